-- How much did the sites of a service allocate, day by day? From the sums of days, which have a row for each site,
-- version and day, however many runs there are.
select service, day, version, max(name) as site, sum(runs) as all_runs, sum(alloc_bytes) as allocated,
	sum(peak_bytes) as peaks
from fleet_day
group by service, day, version, key
order by service, day, allocated desc, version, key
limit 100;
