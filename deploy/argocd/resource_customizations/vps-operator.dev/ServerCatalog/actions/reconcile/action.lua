-- Reconcile: the operator reads the provider's lists now, and tries a rejected API key again.

local os = require("os")
if obj.metadata.annotations == nil then
  obj.metadata.annotations = {}
end
obj.metadata.annotations["vps-operator.dev/reconcile-at"] = os.date("!%Y-%m-%dT%XZ")
return obj
