"""How fast is it? Figures beside a calibration figure, so that two machines can be compared."""
