internal import CNocturneKernels

extension ImageResampler.StreamedResampling {
    /// How one axis is resampled.
    struct AxisPlan: Sendable {
        let inputs: Int
        let outputs: Int
        let isFiltered: Bool
        private let taps: AxisTaps

        init(inputs: Int, outputs: Int, order: ResamplingRule.Order) {
            self.inputs = inputs
            self.outputs = outputs
            // An axis of the same size is unchanged: nnU-Net applies the spline to it, with the same numbers as the result.
            let order = inputs == outputs ? .nearest : order
            isFiltered = Self.isFiltered(inputs: inputs, outputs: outputs, order: order)
            taps = AxisTaps(inputs: inputs, outputs: outputs, order: order)
        }

        static func isFiltered(inputs: Int, outputs: Int, order: ResamplingRule.Order) -> Bool {
            order == .cubic && inputs != outputs
        }

        /// Samples of an axis widened by its padding, if it is filtered.
        static func samples(inputs: Int, isFiltered: Bool) -> Int {
            inputs + (isFiltered ? 2 * AxisTaps.cubicPadding : 0)
        }

        private var padding: Int { isFiltered ? AxisTaps.cubicPadding : 0 }

        /// Samples of the widened axis.
        var samples: Int { Self.samples(inputs: inputs, isFiltered: isFiltered) }

        /// The input sample of which a sample of the widened axis is a copy.
        func input(at position: Int) -> Int { min(max(position - padding, 0), inputs - 1) }

        /// The last input sample that contributes to output k. The values ascend.
        func lastTap(of k: Int) -> Int { taps.indices[(taps.count - 1) * outputs + k] }

        /// Which inputs contribute to any output.
        var neededInputs: [Bool] {
            if isFiltered { return Array(repeating: true, count: inputs) }
            var result = Array(repeating: false, count: inputs)
            for index in taps.indices { result[index] = true }
            return result
        }

        func withKernel(_ body: (UnsafePointer<nk_axis>) -> Void) {
            taps.indices.withUnsafeBufferPointer { indices in
                taps.weights.withUnsafeBufferPointer { weights in
                    guard let indices = indices.baseAddress, let weights = weights.baseAddress else { return }
                    var axis = nk_axis(
                        inputs: inputs,
                        outputs: outputs,
                        padding: padding,
                        taps: Int32(taps.count),
                        indices: indices,
                        weights: weights
                    )
                    body(&axis)
                }
            }
        }
    }
}
