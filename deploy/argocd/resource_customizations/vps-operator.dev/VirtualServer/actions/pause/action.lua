-- Pause: the operator makes no calls to the provider for this object.

if obj.metadata.annotations == nil then
  obj.metadata.annotations = {}
end
obj.metadata.annotations["vps-operator.dev/paused"] = "true"
return obj
