-- Which sites hold most at the peaks of all runs, and most over time, which weighs a run by how long it took?
select key, max(name) as site, count(distinct run) as runs, sum(peak_bytes) as peak, sum(byte_seconds) as byte_s
from fleet
where part = 'site'
group by key
order by peak desc, key
limit 20;
