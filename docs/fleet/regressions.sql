-- Which sites hold more, or less, at the peak in version NEW than in version OLD? A host counts once, by the mean of
-- its runs. The change of the median must be above the spread of both versions, each from the first to the third quarter of
-- the hosts, and a twentieth of the larger median.
select service, key, site, old_median, new_median, new_median - old_median as change, old_spread, new_spread
from (
	select service, key, max(site) as site,
		max(case when version = 'OLD' then median else 0 end) as old_median,
		max(case when version = 'NEW' then median else 0 end) as new_median,
		max(case when version = 'OLD' then spread else 0 end) as old_spread,
		max(case when version = 'NEW' then spread else 0 end) as new_spread
	from (
		select service, key, version, max(site) as site,
			arraySort(groupArray(mean))[intDiv(count(), 2) + 1] as median,
			arraySort(groupArray(mean))[intDiv(count() * 3, 4) + 1] -
				arraySort(groupArray(mean))[intDiv(count(), 4) + 1] as spread
		from (
			select service, key, version, host, max(name) as site,
				cast(intDiv(sum(peak_bytes), count(distinct run)) as BIGINT) as mean
			from fleet
			where part = 'site' and version in ('OLD', 'NEW')
			group by service, key, version, host
		) as hosts
		group by service, key, version
	) as versions
	group by service, key
) as pairs
where abs(new_median - old_median) > old_spread + new_spread
	and abs(new_median - old_median) * 20 > greatest(old_median, new_median)
order by abs(new_median - old_median) desc, service, key
limit 50;
