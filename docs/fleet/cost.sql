-- What do heaps cost, in GB (10^9 bytes) times hours?
select service, version, count() as runs, round(sum(byte_seconds) / 3.6e12, 6) as gb_hours, max(peak_bytes) as highest
from fleet
where part = 'run'
group by service, version
order by service, version;
