-- Which sites grow, by how many bytes an hour, in how many runs? The median is of the runs in which they grow.
select key, max(name) as site, version, count() as runs,
	arraySort(groupArray(growth))[intDiv(count(), 2) + 1] as median, max(growth) as most
from fleet
where part = 'site' and growth > 0
group by key, version
order by median desc, key, version
limit 50;
