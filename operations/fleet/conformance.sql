-- name: sampled
with sampled as (
    select raw_id, data
    from (from stored_events where day >= $since and stream = $stream)
    using sample reservoir({sample} rows)
)
select firmware, data
from sampled left join (
    select id, any_value(firmware) as firmware from received where day >= $since group by id
) as sent on sent.id = raw_id
