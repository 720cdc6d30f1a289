-- What did the step from version OLD to NEW change, by function with all that it calls? Bytes and calls of a run in
-- the mean, whatever their noise; a version may be a commit's name. A function of which a run keeps no row counts as 0 there.
select key, function_name, old_bytes, new_bytes, new_bytes - old_bytes as change, old_calls, new_calls
from (
	select key, max(name) as function_name,
		cast(intDiv(sum(case when version = 'OLD' then alloc_bytes else 0 end),
			(select count() from fleet where part = 'run' and version = 'OLD')) as BIGINT) as old_bytes,
		cast(intDiv(sum(case when version = 'NEW' then alloc_bytes else 0 end),
			(select count() from fleet where part = 'run' and version = 'NEW')) as BIGINT) as new_bytes,
		cast(intDiv(sum(case when version = 'OLD' then alloc_blocks else 0 end),
			(select count() from fleet where part = 'run' and version = 'OLD')) as BIGINT) as old_calls,
		cast(intDiv(sum(case when version = 'NEW' then alloc_blocks else 0 end),
			(select count() from fleet where part = 'run' and version = 'NEW')) as BIGINT) as new_calls
	from fleet
	where part = 'function' and version in ('OLD', 'NEW')
	group by key
) as functions
order by abs(new_bytes - old_bytes) desc, key
limit 50;
