/// The operator at the end of a network that makes probabilities of logits, by its ONNX name.
public enum FinalActivation: String, Sendable, Equatable {
    /// The logistic function of every value.
    case sigmoid = "Sigmoid"
    /// Of all classes together.
    case softmax = "Softmax"
}
