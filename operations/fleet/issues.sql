-- name: issues
with newest as (
    from parked_messages
    where parked_ms > $since_ms and parked_ms <= $asked_at_ms
        and ($stream is null or stream = $stream)
    qualify row_number() over (
        partition by coalesce(id, key) order by parked_ms desc
    ) = 1
), counted as (
    select
        newest.stream, reason,
        -- without quoted text, hex digits and numbers
        regexp_replace(
            detail,
            '"[^"]*"|''[^'']*''|\b(0x)?[0-9a-f]{{8,}}\b|[0-9]+([.][0-9]+)?',
            '…', 'g'
        ) as problem,
        count(*) as messages,
        count(distinct newest.device_id) as devices,
        min(parked_ms) as first_ms,
        max(parked_ms) as last_ms,
        list_sort(list(distinct firmware) filter (firmware is not null)) as firmware,
        list_sort(list(distinct parser) filter (parser is not null)) as parsers,
        arg_min(parser, parked_ms) as first_parser,
        arg_max(newest.id, parked_ms) as id,
        histogram(parked_ms // {hour_ms}) as by_hour
    from newest left join (
        select id, any_value(firmware) as firmware
        from received semi join newest using (id) where day >= $since_day group by id
    ) using (id)
    group by all
), versions as (
    select parser, split_part(parser, '@', 1) as name, min(parsed_ms) as since_ms
    from parsed where day >= $since_day group by parser
), introduced as (
    select distinct later.parser
    from versions as later
    join versions as earlier using (name)
    where earlier.since_ms < later.since_ms
)
select
    counted.* exclude (first_parser, by_hour),
    introduced.parser as new_since,
    [
        coalesce(by_hour[$asked_at_ms // {hour_ms} - ago], 0)
        for ago in range(23, -1, -1)
    ] as hours
from counted left join introduced on introduced.parser = first_parser
order by messages desc, last_ms desc, stream, reason, problem
limit $issues_max
