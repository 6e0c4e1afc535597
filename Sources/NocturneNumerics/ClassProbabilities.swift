internal import CNocturneKernels
public import NocturneConcurrency
public import NocturneCore

/// The probabilities of some classes in slices of the native grid, as whole numbers of 1/255, rounded to the nearest.
///
/// They are those that nnU-Net exports (`--save_probabilities`): softmax over the interpolated logits, or the logistic
/// function of each region; of several networks, the mean. Interpolated in float32, so that next to a rounding limit a value
/// may be one step away from that of float64.
public struct ClassProbabilities: Sendable {
    /// What the planes of ``EnsemblePlanes`` hold.
    public enum Form: Sendable {
        case logits
        /// Of ``PlaneProbabilities``.
        case probabilities
    }

    /// The classes, by their index among the network's outputs, in the order of the result.
    public let classes: [Int]
    private let places: [Int32]
    private let form: Int32

    /// - Parameters:
    ///   - decision: of the networks.
    ///   - classes: distinct indices among the classes of the decision.
    public init(_ decision: LabelDecision, of classes: [Int], form: Form = .logits) {
        // -1 for classes that are not wanted: the kernel needs all of them for the softmax.
        var places = [Int32](repeating: -1, count: decision.labels.count)
        for (place, index) in classes.enumerated() { places[index] = Int32(place) }
        self.classes = classes
        self.places = places
        let own =
            switch (form, decision.isRegions) {
            case (.logits, false): NK_LOGITS_OF_CLASSES
            case (.logits, true): NK_LOGITS_OF_REGIONS
            case (.probabilities, false): NK_PROBABILITIES
            case (.probabilities, true): NK_PROBABILITIES_LESS_HALF
            }
        self.form = Int32(own)
    }

    /// Computes the next slice of the planes' box; every member has pushed the planes that it needs.
    /// - Parameter slice: receives `[class][y][x]`, x fastest: ``classes`` times a slice of the box.
    /// - Throws: ``NumericsError`` for a buffer of another size, `CancelledError`.
    /// - Complexity: about 10 ns per voxel, class of the networks and member, in parallel by rows.
    public func nextSlice(
        of planes: EnsemblePlanes,
        into slice: inout VoxelBuffer<UInt8>,
        scope: ComputeScope
    ) throws {
        let area = planes.box.sliceCount
        guard slice.count == classes.count * area else {
            throw NumericsError.count("slice of probabilities", expected: classes.count * area, found: slice.count)
        }
        let (width, form, places) = (planes.box.x, form, places)
        try slice.withParallelBuffer { slice in
            try planes.forEachRange(scope) { range, rows in
                // For the mean of several members; one row of each class.
                let scratch = UnsafeMutablePointer<Float>.allocate(
                    capacity: nk_label_row_mean_scratch(Int32(places.count))
                )
                defer { scratch.deallocate() }
                places.withUnsafeBufferPointer { places in
                    var stored = nk_probability_bytes(
                        places: places.baseAddress!,
                        classes: Int32(places.count),
                        form: form,
                        step: area
                    )
                    for j in range {
                        rows.withTaps(j) { taps in
                            nk_row_probabilities(
                                slice.base + j * width,
                                width,
                                nk_label_members(taps: taps.baseAddress!, count: Int32(taps.count)),
                                &stored,
                                scratch
                            )
                        }
                    }
                }
            }
        }
    }
}
