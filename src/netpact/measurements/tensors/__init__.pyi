from netpact.measurements.tensors.decomposing import TensorOptions as TensorOptions
from netpact.measurements.tensors.layer_tensor import LayerTensor as LayerTensor
from netpact.measurements.tensors.measuring import tensor_properties as tensor_properties
from netpact.measurements.tensors.properties import TensorProperties as TensorProperties
from netpact.measurements.tensors.properties import TensorProvenance as TensorProvenance
