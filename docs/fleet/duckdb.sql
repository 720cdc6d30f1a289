-- ClickHouse's names of functions that the queries of this folder use.
create or replace macro groupArray(x) as list(x);
create or replace macro arraySort(x) as list_sort(x);
create or replace macro intDiv(a, b) as a // b;
