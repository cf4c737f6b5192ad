-- A place that is taken elsewhere: the steps are numbered without gaps.
SELECT 1;
