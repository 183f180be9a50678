"""`passes`: which pass of OpenVINO's compiler changes the result of a model."""
