-- Reconcile: the operator looks at the object now, and tries a rejected API key again.

local os = require("os")
if obj.metadata.annotations == nil then
  obj.metadata.annotations = {}
end
obj.metadata.annotations["vps-operator.dev/reconcile-at"] = os.date("!%Y-%m-%dT%XZ")
return obj
