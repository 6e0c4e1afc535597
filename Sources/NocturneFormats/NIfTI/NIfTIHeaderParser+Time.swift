import NocturneSystem

extension NIfTIHeaderParser {
    /// Intents of several values for one voxel, which some files have along the fourth axis: matrices, vectors, quaternions,
    /// colours.
    private static let vectorIntents: Set<Int> = [1004, 1005, 1006, 1007, 1008, 1009, 1010, 2003, 2004]

    /// The fourth axis; nil when it has one volume or is not there.
    func time(_ sizes: [Int], _ text: String) throws(NIfTIError) -> NIfTITimeSeries? {
        guard sizes.count > 3, sizes[3] > 1 else { return nil }
        let intent = fields.code(at: fields.layout.intentCode)
        if Self.vectorIntents.contains(intent) {
            throw NIfTIError(
                .notThreeDimensional,
                path: path,
                "4-D image (\(text)) with several values for each voxel (intent code \(intent)), not a time series"
            )
        }
        let unit = fields.units & 0x38
        guard ![32, 40, 48].contains(unit) else {
            let name = [32: "Hz", 40: "ppm", 48: "rad/s"][unit] ?? ""
            throw NIfTIError(
                .notThreeDimensional,
                path: path,
                "4-D image (\(text)) whose fourth axis is in \(name), not a time series"
            )
        }
        guard sizes[3] <= NIfTITimeSeries.mostVolumes else {
            throw NIfTIError(
                .invalidDimensions,
                path: path,
                "4-D image (\(text)): more than \(NIfTITimeSeries.mostVolumes) volumes in the file"
            )
        }
        let seconds: Double? = [8: 1, 16: 1e-3, 24: 1e-6][unit]
        let step = fields.real(at: fields.layout.pixelDimensions, index: 4)
        let start = fields.real(at: fields.layout.timeOffset)
        return NIfTITimeSeries(
            count: sizes[3],
            step: seconds.flatMap { step.isFinite && step > 0 ? step * $0 : nil },
            start: start.isFinite ? start * (seconds ?? 1) : 0
        )
    }
}
