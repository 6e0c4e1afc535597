import NocturneConcurrency
import NocturneInference
import NocturnePostprocess
import NocturneRecipeSupport
import NocturneSystem

/// Converts a network's outputs to instances by the package's rules.
struct InstanceReading {
    let model: PhotoInstancesModel
    let frame: Letterbox
    let scope: ComputeScope

    private var settings: PhotoInstancesSettings { model.settings }

    /// Instances on the photo's own grid.
    struct Found {
        var instances: [DetectedInstance]
        /// Those that exceed the maximum per photo.
        var dropped = 0
        var slivers = SliverCounts()
        var refusal: OutlineRefusal?

        /// What a user should know about instances that were found and are not in the result.
        var notes: [String] {
            var notes: [String] = []
            if dropped > 0 { notes.append("\(dropped) more were found; the \(instances.count) largest are kept") }
            let fates = [(slivers.merged, "merged with a neighbour"), (slivers.dropped, "dropped")]
                .filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
            if !fates.isEmpty {
                notes.append("pieces much smaller than the others: \(fates.joined(separator: ", "))")
            }
            if let refusal {
                let (share, least) = (refusal.clearShare * 100, (refusal.leastShare * 100).rounded())
                notes.append(
                    "what was found (\(refusal.count)) is not kept: \(Int(share)) % of its area has clear outlines, less than "
                        + "\(Int(least)) %, as in pictures of other things"
                )
            }
            return notes
        }
    }

    /// The instances that the outputs describe.
    /// - Throws: `InstanceError` for outputs that are not finite or have the wrong size; `CancelledError`.
    func instances(_ outputs: [String: Tensor]) throws -> Found {
        switch settings.output {
        case .maps(let splitting): return try split(try output(model.firstOutput, outputs), splitting)
        case .prototypes(let candidates, let prototypes, let thresholds):
            let planes = try output(prototypes, outputs, axes: 4)
            let found = try decoder(thresholds).prototypes(
                candidates: try output(candidates, outputs, axes: 3).values,
                classes: settings.classes.count,
                planes: planes.values,
                planeCount: planes.shape[1],
                planeWidth: planes.shape[3],
                planeHeight: planes.shape[2],
                flag: scope.flag
            )
            return Found(instances: found)
        case .masks(let boxes, let scores, let classes, let masks, let firstClass, let thresholds):
            let planes = try output(masks, outputs, axes: 4)
            let found = try decoder(thresholds).masks(
                boxes: try output(boxes, outputs).values,
                scores: try output(scores, outputs).values,
                kinds: try output(classes, outputs).values,
                classes: settings.classes.count,
                firstClass: firstClass,
                planes: planes.values,
                planeWidth: planes.shape[3],
                planeHeight: planes.shape[2],
                flag: scope.flag
            )
            return Found(instances: found)
        }
    }

    private func output(_ name: String, _ outputs: [String: Tensor], axes: Int? = nil) throws -> Tensor {
        guard let tensor = outputs[name], axes == nil || tensor.shape.count == axes else {
            throw InstanceError(
                .wrongSize,
                "output \(name) has the extents \(outputs[name]?.shape ?? [])"
            )
        }
        return tensor
    }

    // MARK: Maps

    private func split(_ tensor: Tensor, _ splitting: MapSplitting) throws -> Found {
        let planes = splitting.hasCentre ? 3 : 2
        guard tensor.shape == [1, planes, frame.inputHeight, frame.inputWidth] else {
            throw InstanceError(.wrongSize, "maps of the extents \(tensor.shape)")
        }
        let maps = try InstanceMaps(
            width: frame.content.width,
            height: frame.content.height,
            foreground: plane(0, tensor, splitting),
            boundary: plane(1, tensor, splitting),
            centre: splitting.hasCentre ? plane(2, tensor, splitting) : nil
        )
        let rules = SplittingRules(
            foregroundThreshold: splitting.foregroundThreshold,
            backgroundThreshold: splitting.backgroundThreshold,
            seedThreshold: splitting.seedThreshold,
            boundaryWeight: splitting.boundaryWeight,
            minimumSeedArea: splitting.minimumSeedArea,
            minimumArea: splitting.minimumArea,
            mergeBoundary: splitting.mergeBoundary,
            minimumContact: splitting.minimumContact,
            minimumAreaShareOfMedian: splitting.minimumAreaShareOfMedian,
            minimumClearShare: splitting.minimumClearShare,
            maximumInstances: settings.maximumInstances
        )
        let labels = try InstanceSplitter(rules: rules).split(maps, flag: scope.flag)
        let masks = try MaskUpsampling.masks(of: labels, width: frame.width, height: frame.height, scope: scope)
        let found = zip(masks, labels.confidences).map { mask, confidence in
            DetectedInstance(mask: mask, confidence: confidence, classIndex: 0)
        }
        return Found(
            instances: found,
            dropped: labels.dropped,
            slivers: labels.slivers,
            refusal: labels.refusal
        )
    }

    /// The part of a map that covers the picture, as probabilities.
    private func plane(_ index: Int, _ tensor: Tensor, _ splitting: MapSplitting) -> [Float] {
        let start = index * frame.inputWidth * frame.inputHeight
        var values: [Float] = []
        let content = frame.content
        values.reserveCapacity(content.width * content.height)
        for y in content.y..<content.y + content.height {
            let row = start + y * frame.inputWidth + content.x
            values += tensor.values[row..<row + content.width]
        }
        return splitting.activation == .sigmoid ? values.map(Logistic.probability(of:)) : values
    }

    private func decoder(_ thresholds: DetectionThresholds) -> DetectionDecoder {
        DetectionDecoder(
            frame: frame,
            rules: DetectionRules(
                scoreThreshold: thresholds.score,
                boxOverlap: thresholds.boxOverlap,
                maskOverlap: thresholds.maskOverlap,
                maskThreshold: thresholds.mask,
                maximumInstances: settings.maximumInstances,
                minimumArea: thresholds.minimumArea
            )
        )
    }
}
