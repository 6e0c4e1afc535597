import Glibc
import NocturneConcurrency
import NocturneCore
import NocturneInference
import NocturnePostprocess
import NocturneSystem

extension PhotoInstances {
    /// Converts a network's outputs to instances by the package's rules.
    struct Reading {
        let model: PhotoInstancesModel
        let frame: Letterbox
        let scope: ComputeScope

        private var settings: PhotoInstancesModel.Settings { model.settings }

        /// Instances on the photo's own grid.
        struct Found {
            var instances: [DetectionDecoder.Instance]
            /// Those that exceed the maximum per photo.
            var dropped = 0
            var slivers = InstanceSplitter.Labels.Slivers()
            var refusal: InstanceSplitter.Labels.Refusal?

            /// What a user should know about instances that were found and are not in the result.
            var notes: [Note] {
                var notes: [Note] = []
                if dropped > 0 {
                    notes.append(
                        Note("instances.dropped", "\(dropped) more were found; the \(instances.count) largest are kept")
                    )
                }
                let fates = [(slivers.merged, "merged with a neighbour"), (slivers.dropped, "dropped")]
                    .filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
                if !fates.isEmpty {
                    notes.append(
                        Note(
                            "instances.slivers",
                            "pieces much smaller than the others: \(own: fates.joined(separator: ", "))"
                        )
                    )
                }
                if let refusal {
                    let (share, least) = (refusal.clearShare * 100, (refusal.leastShare * 100).rounded())
                    notes.append(
                        Note(
                            "instances.unclear",
                            "\(counted(refusal.count, "possible object")) discarded: \(Int(share)) % of their area has clear outlines, at least "
                                + "\(Int(least)) % is needed; the photo probably shows other things"
                        )
                    )
                }
                return notes
            }
        }

        /// The instances that the outputs describe.
        /// - Throws: `NetworkOutputError` for outputs that are not finite or have the wrong size; `CancelledError`.
        func instances(_ outputs: [String: Tensor]) throws -> Found {
            switch settings.output {
            case .maps(let splitting): return try split(try output(model.firstOutput, outputs), splitting)
            case .prototypes(let candidates, let prototypes, let rules):
                // `[1][prototype][y][x]`: masks are sums of these planes.
                let planes = try output(prototypes, outputs, axes: 4)
                let found = try DetectionDecoder(frame: frame, rules: rules).prototypes(
                    candidates: try output(candidates, outputs, axes: 3).values,
                    classes: settings.classes.count,
                    planes: DetectionDecoder.Planes(
                        planes.values,
                        count: planes.shape[1],
                        width: planes.shape[3],
                        height: planes.shape[2]
                    ),
                    flag: scope.flag
                )
                return Found(instances: found)
            case .masks(let boxes, let scores, let classes, let masks, let firstClass, let rules):
                let planes = try output(masks, outputs, axes: 4)
                let found = try DetectionDecoder(frame: frame, rules: rules).masks(
                    boxes: try output(boxes, outputs).values,
                    scores: try output(scores, outputs).values,
                    kinds: try output(classes, outputs).values,
                    classes: firstClass..<firstClass + settings.classes.count,
                    planes: DetectionDecoder.Planes(
                        planes.values,
                        // One plane for each box, whether the network puts them along the first or the second axis.
                        count: planes.shape[0] * planes.shape[1],
                        width: planes.shape[3],
                        height: planes.shape[2]
                    ),
                    flag: scope.flag
                )
                return Found(instances: found)
            }
        }

        /// - Parameter axes: how many the tensor must have; nil for any number.
        private func output(_ name: String, _ outputs: [String: Tensor], axes: Int? = nil) throws -> Tensor {
            // Checked here, since the extents are read by their place and a missing axis would end the program.
            guard let tensor = outputs[name], axes == nil || tensor.shape.count == axes else {
                throw NetworkOutputError(detail: "output \(name) has the extents \(outputs[name]?.shape ?? [])")
            }
            return tensor
        }

        // MARK: Maps

        /// Maps are split on the network's grid; the masks are enlarged to the photo.
        private func split(_ tensor: Tensor, _ splitting: PhotoInstancesModel.Settings.Maps) throws -> Found {
            let planes = splitting.mapCount
            guard tensor.shape == [1, planes, frame.inputHeight, frame.inputWidth] else {
                throw NetworkOutputError(detail: "maps of the extents \(tensor.shape)")
            }
            let pixels = frame.content.width * frame.content.height
            let maps = try InstanceMaps(
                width: frame.content.width,
                height: frame.content.height,
                foreground: plane(0, tensor, splitting),
                // Without a map of boundaries no pixel is one.
                boundary: splitting.hasBoundary ? plane(1, tensor, splitting) : [Float](repeating: 0, count: pixels),
                centre: splitting.hasCentre ? plane(planes - 1, tensor, splitting) : nil
            )
            let labels = try InstanceSplitter(rules: splitting.rules).split(maps, flag: scope.flag)
            let masks = try RunLengthMask.masks(of: labels, width: frame.width, height: frame.height, scope: scope)
            let found = zip(masks, labels.confidences).map { mask, confidence in
                // Maps do not distinguish classes, so that there is exactly one.
                DetectionDecoder.Instance(mask: mask, confidence: confidence, classIndex: 0)
            }
            return Found(
                instances: found,
                dropped: labels.dropped,
                slivers: labels.slivers,
                refusal: labels.refusal
            )
        }

        /// The part of a map that covers the picture, as probabilities.
        private func plane(_ index: Int, _ tensor: Tensor, _ splitting: PhotoInstancesModel.Settings.Maps) -> [Float] {
            let start = index * frame.inputWidth * frame.inputHeight
            var values: [Float] = []
            let content = frame.content
            values.reserveCapacity(content.width * content.height)
            for y in content.y..<content.y + content.height {
                // The network's input is filled up around the picture; the filling is left out.
                let row = start + y * frame.inputWidth + content.x
                values += tensor.values[row..<row + content.width]
            }
            return splitting.activation == .sigmoid ? values.map(Self.probability(of:)) : values
        }

        /// The logistic function.
        private static func probability(of logit: Float) -> Float { 1 / (1 + exp(-logit)) }
    }
}
