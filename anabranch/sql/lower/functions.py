"""Spark's own functions, sorted by what they mean for maintaining a query.

Taken from the registry of Spark 4.3. A function that isn't here was registered by somebody, and nobody
knows whether it gives the same value twice.
"""

from __future__ import annotations

from collections.abc import Mapping

AGGREGATES = frozenset(
    """
    any any_value approx_count_distinct approx_percentile approx_top_k approx_top_k_accumulate
    approx_top_k_combine array_agg avg bit_and bit_or bit_xor bitmap_and_agg bitmap_construct_agg
    bitmap_or_agg bool_and bool_or collect_list collect_set collect_union corr count count_if
    count_min_sketch covar_pop covar_samp every first first_value histogram_numeric hll_sketch_agg
    hll_union_agg kll_merge_agg_bigint kll_merge_agg_double kll_merge_agg_float kll_sketch_agg_bigint
    kll_sketch_agg_double kll_sketch_agg_float kurtosis last last_value listagg max max_by mean median
    min min_by mode percentile percentile_approx percentile_cont percentile_disc regr_avgx regr_avgy
    regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy schema_of_variant_agg
    skewness some std stddev stddev_pop stddev_samp string_agg sum theta_intersection_agg
    theta_sketch_agg theta_union_agg try_avg try_sum tuple_intersection_agg_double
    tuple_intersection_agg_integer tuple_sketch_agg_double tuple_sketch_agg_integer
    tuple_union_agg_double tuple_union_agg_integer var_pop var_samp variance vector_avg vector_sum
    """.split()
)
"""Functions of the rows of a group."""

ORDER_DEPENDENT = frozenset(
    """
    any_value approx_percentile approx_top_k approx_top_k_accumulate array_agg collect_list collect_set
    collect_union first first_value histogram_numeric kll_merge_agg_bigint kll_merge_agg_double
    kll_merge_agg_float kll_sketch_agg_bigint kll_sketch_agg_double kll_sketch_agg_float last last_value
    listagg max_by min_by mode percentile_approx string_agg
    """.split()
)
"""Aggregates whose value may depend on an order of rows that SQL doesn't give."""

EMPTY_GROUP: Mapping[str, int | None] = {
    **dict.fromkeys(
        """
        any any_value avg bit_and bit_or bit_xor bool_and bool_or corr covar_pop covar_samp every first
        first_value kurtosis last last_value max max_by mean median min min_by mode percentile
        percentile_approx approx_percentile skewness some std stddev stddev_pop stddev_samp sum try_avg
        try_sum var_pop var_samp variance single
        """.split()
    ),
    **dict.fromkeys("count count_if approx_count_distinct regr_count".split(), 0),
}
"""What an aggregate gives for no rows at all, where that is a number or NULL."""

WINDOWS = frozenset(
    "counter_diff cume_dist dense_rank lag lead nth_value ntile percent_rank rank row_number".split()
)
"""Functions that need a window."""

GENERATORS = frozenset(
    """
    explode explode_outer inline inline_outer json_tuple posexplode posexplode_outer stack variant_explode
    variant_explode_outer
    """.split()
)
"""Functions that make several rows of one."""

_CLOCK = "its value is another one on every refresh"
_CHANCE = "its value is drawn anew on every refresh"
_PLACE = "its value depends on how Spark cuts its work into tasks and files"
_SESSION = "its value depends on who asks, and in which session"

UNSTABLE: Mapping[str, str] = {
    **dict.fromkeys("curdate current_date current_time current_timestamp localtime now".split(), _CLOCK),
    **dict.fromkeys(["localtimestamp"], _CLOCK),
    **dict.fromkeys("aes_encrypt rand randn random randstr shuffle uniform uuid".split(), _CHANCE),
    **dict.fromkeys(
        """
        input_file_block_length input_file_block_start input_file_name monotonically_increasing_id
        spark_partition_id
        """.split(),
        _PLACE,
    ),
    **dict.fromkeys(
        """
        current_catalog current_database current_path current_schema current_timezone current_user
        session_user user version
        """.split(),
        _SESSION,
    ),
}
"""Functions that may give another value for the same row, and why."""

BARE_CALLS = frozenset(
    """
    current_date current_time current_timestamp current_user localtime localtimestamp session_user user
    """.split()
)
"""Functions that Spark calls without brackets, where no column has their name."""

NOT_YET: Mapping[str, str] = {
    "measure": "metric views aren't known here",
    "session_window": "windows of time aren't maintained yet",
    "window": "windows of time aren't maintained yet",
    "window_time": "windows of time aren't maintained yet",
}
"""Functions that change what a query is, and aren't understood yet."""

DATETIME_READERS = frozenset(
    """
    date timestamp to_date to_timestamp to_timestamp_ltz to_timestamp_ntz to_unix_timestamp try_to_date
    try_to_timestamp unix_timestamp
    """.split()
)
"""Functions that read a time from text, and understand 'now' and 'today'."""

SCALARS = frozenset(
    """
    abs acos acosh add_months aes_decrypt aggregate and approx_top_k_estimate array array_append
    array_compact array_contains array_distinct array_except array_insert array_intersect array_join
    array_max array_min array_position array_prepend array_remove array_repeat array_size array_sort
    array_union arrays_overlap arrays_zip ascii asin asinh assert_true atan atan2 atanh base64 between
    bigint bin binary bit_count bit_get bit_length bitmap_bit_position bitmap_bucket_number bitmap_count
    boolean bround btrim cardinality cast cbrt ceil ceiling char char_length character_length chr
    coalesce collate collation concat concat_ws contains conv convert_timezone cos cosh cot crc32 csc
    date date_add date_diff date_format date_from_unix_date date_part date_sub date_trunc dateadd
    datediff datepart day dayname dayofmonth dayofweek dayofyear decimal decode degrees div double e
    element_at elt encode endswith equal_null exists exp expm1 extract factorial filter find_in_set
    flatten float floor forall format_number format_string from_avro from_base32 from_csv from_json
    from_unixtime from_utc_timestamp from_xml get get_json_object getbit greatest hash hex
    hll_sketch_estimate hll_union hmac hour hypot if ifnull ilike in initcap instr int is_valid_utf8
    is_valid_variant is_variant_null isnan isnotnull isnull jaro_winkler_similarity json_array_length
    json_object_keys kll_sketch_get_n_bigint kll_sketch_get_n_double kll_sketch_get_n_float
    kll_sketch_get_quantile_bigint kll_sketch_get_quantile_double kll_sketch_get_quantile_float
    kll_sketch_get_rank_bigint kll_sketch_get_rank_double kll_sketch_get_rank_float
    kll_sketch_merge_bigint kll_sketch_merge_double kll_sketch_merge_float kll_sketch_to_string_bigint
    kll_sketch_to_string_double kll_sketch_to_string_float last_day lcase least left len length
    levenshtein like ln locate log log10 log1p log2 lower lpad ltrim luhn_check make_date
    make_dt_interval make_interval make_time make_timestamp make_timestamp_ltz make_timestamp_ntz
    make_valid_utf8 make_ym_interval map map_concat map_contains_key map_entries map_filter
    map_from_arrays map_from_entries map_keys map_values map_zip_with mask md5 minute mod month
    monthname months_between named_struct nanvl negative next_day not nullif nullifzero nvl nvl2
    octet_length or overlay parse_json parse_url pi pmod position positive pow power printf quarter
    quote radians raise_error reduce regexp regexp_count regexp_extract regexp_extract_all regexp_instr
    regexp_like regexp_replace regexp_substr repeat replace reverse right rint rlike round rpad rtrim
    schema_of_avro schema_of_csv schema_of_json schema_of_variant schema_of_xml sec second sentences
    sequence sha sha1 sha2 shiftleft shiftright shiftrightunsigned sign signum sin sinh size slice
    smallint sort_array soundex space split split_part sqrt st_asbinary st_geogfromwkb st_geomfromwkb
    st_setsrid st_srid startswith str_to_map string struct substr substring substring_index tan tanh
    theta_difference theta_intersection theta_sketch_estimate theta_union time time_bucket time_diff
    time_from_micros time_from_millis time_from_seconds time_to_micros time_to_millis time_to_seconds
    time_trunc timestamp timestamp_micros timestamp_millis timestamp_nanos timestamp_seconds tinyint
    to_avro to_base32 to_binary to_char to_csv to_date to_json to_number to_time to_timestamp
    to_timestamp_ltz to_timestamp_ntz to_unix_timestamp to_utc_timestamp to_varchar to_variant_object
    to_xml transform transform_keys transform_values translate trim trunc try_add try_aes_decrypt
    try_divide try_element_at try_make_interval try_make_timestamp try_make_timestamp_ltz
    try_make_timestamp_ntz try_mod try_multiply try_parse_json try_parse_url try_subtract try_to_binary
    try_to_date try_to_number try_to_time try_to_timestamp try_url_decode try_validate_utf8
    try_variant_array_append try_variant_get try_variant_insert try_variant_set tuple_difference_double
    tuple_difference_integer tuple_difference_theta_double tuple_difference_theta_integer
    tuple_intersection_double tuple_intersection_integer tuple_intersection_theta_double
    tuple_intersection_theta_integer tuple_sketch_estimate_double tuple_sketch_estimate_integer
    tuple_sketch_summary_double tuple_sketch_summary_integer tuple_sketch_theta_double
    tuple_sketch_theta_integer tuple_union_double tuple_union_integer tuple_union_theta_double
    tuple_union_theta_integer typeof ucase unbase64 unhex unix_date unix_micros unix_millis unix_nanos
    unix_seconds unix_timestamp upper url_decode url_encode validate_utf8 variant_array_append
    variant_delete variant_get variant_insert variant_set variant_strip_nulls vector_cosine_similarity
    vector_inner_product vector_l2_distance vector_norm vector_normalize weekday weekofyear when
    width_bucket xpath xpath_boolean xpath_double xpath_float xpath_int xpath_long xpath_number
    xpath_short xpath_string xxhash64 year zeroifnull zip_with
    """.split()
)
"""Functions of one row's values: the same values give the same result."""
