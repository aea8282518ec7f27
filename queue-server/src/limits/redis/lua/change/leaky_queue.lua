-- A leaky queue gives nothing back: others were told their places.

algorithms[3].refund = function(_, _, state) return state end
algorithms[3].inherit = gcra_inherit
