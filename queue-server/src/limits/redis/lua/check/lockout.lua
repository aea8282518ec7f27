-- Mirrors `shared::limiter::lockout`: the one algorithm whose refusal changes the state.
--
-- policy  <BBddd  length, 8, max, window_us, lock_us (0: no lock)
-- state   <ddd    used, last_admitted, locked_until

-- Cost taken in the window of `at`, not before the last admission.
local function lockout_used(max, window_us, used, last_admitted, at)
  local is_over = at - at % window_us ~= last_admitted - last_admitted % window_us
  return is_over and 0 or math.min(used, max)
end

-- Time until the lock ends, or else the window.
local function lockout_reset(window_us, used, locked_until, at)
  if at < locked_until then return locked_until - at end
  return used == 0 and 0 or window_us - at % window_us
end

algorithms[8] = {
  check = function(policy, cost, state, now_us)
    local _, _, max, window_us, lock_us = read('<BBddd', policy)
    local taken, last_admitted, locked_until = 0, 0, 0
    if state then taken, last_admitted, locked_until = read('<ddd', state) end
    local at = math.max(now_us, last_admitted)
    local used = lockout_used(max, window_us, taken, last_admitted, at)
    local is_locked = at < locked_until
    local remaining = is_locked and 0 or max - used
    if cost > max then
      return false, remaining, NEVER, lockout_reset(window_us, used, locked_until, at), 0, nil, at
    end
    if cost > remaining then
      local next_state
      if lock_us > 0 and not is_locked then
        used, locked_until = 0, math.min(at + lock_us, LATEST_US)
        remaining = at < locked_until and 0 or remaining
        next_state = pack('<ddd', used, last_admitted, locked_until)
      end
      local wait = lockout_reset(window_us, used, locked_until, at)
      return false, remaining, wait, wait, 0, next_state, at
    end
    if cost == 0 then
      return true, remaining, 0, lockout_reset(window_us, used, locked_until, at), 0, nil, at
    end
    local reset_after = lockout_reset(window_us, used + cost, locked_until, at)
    return true, remaining - cost, 0, reset_after, 0, pack('<ddd', used + cost, at, locked_until), at
  end,
}
