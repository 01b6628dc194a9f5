-- Resume: ends a pause.

if obj.metadata.annotations ~= nil then
  obj.metadata.annotations["vps-operator.dev/paused"] = nil
  -- Older versions of Argo CD take an empty table for no change.
  if next(obj.metadata.annotations) == nil then
    obj.metadata.annotations = nil
  end
end
return obj
