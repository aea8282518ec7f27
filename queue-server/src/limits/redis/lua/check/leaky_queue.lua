-- Mirrors `shared::limiter::leaky_queue`: the debt of its meter is the delay.
--
-- policy  <BBddddd  length, 3, max_waiting + 1, and the rest as in gcra.lua
-- state             as in gcra.lua

algorithms[3] = {
  check = function(policy, cost, state, now_us)
    local passes, remaining, retry_after, reset_after, _, next_state, at, before =
      gcra_check(policy, cost, state, now_us)
    return passes, remaining, retry_after, reset_after, before or 0, next_state, at
  end,
}
