-- Which hosts need far more, or less, at the peak than others with the same service and version? What is above the
-- third quarter, or below the first one, by more than three times what lies between them, and by a tenth of the median.
select service, version, host, mean, median
from (
	select service, version, host, cast(intDiv(sum(peak_bytes), count()) as BIGINT) as mean
	from fleet where part = 'run'
	group by service, version, host
) as hosts
inner join (
	select service, version, arraySort(groupArray(mean))[intDiv(count(), 2) + 1] as median,
		arraySort(groupArray(mean))[intDiv(count(), 4) + 1] as low,
		arraySort(groupArray(mean))[intDiv(count() * 3, 4) + 1] as high
	from (
		select service, version, host, cast(intDiv(sum(peak_bytes), count()) as BIGINT) as mean
		from fleet where part = 'run'
		group by service, version, host
	) as means
	group by service, version
) as quarters using (service, version)
where (mean > high + 3 * (high - low) or mean < low - 3 * (high - low)) and abs(mean - median) * 10 > median
order by service, version, host;
