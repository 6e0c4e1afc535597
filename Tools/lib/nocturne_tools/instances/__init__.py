"""Packages for instance segmentation from ONNX files of YOLO-seg and weights of torchvision's Mask R-CNN."""
