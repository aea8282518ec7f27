-- Permits: given back by their holder, and held on when the policy changes.

algorithms[10].refund = function(_, _, state) return state end
algorithms[10].inherit = function(_, _, state) return state end

-- The state without the permit of `holder`.
algorithms[10].give = function(state, holder)
  local others = permits_in_force(state, math.max(now_us, (read('<d', state))), holder)
  return sub(state, 1, 8) .. table.concat(others)
end
