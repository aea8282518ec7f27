-- The clock in production: Redis' own. `now_us` is a local of whatever follows.
local time = redis.call('TIME')
local now_us, clock_ahead_ms = time[1] * 1000000 + time[2], 0
