import NocturneSystem

extension VolumeFileHeader {
    /// The fourth axis of a NIfTI file: volumes on one grid, one after the other.
    public struct TimeSeries: Hashable, Sendable {
        /// The most volumes that are read from a file.
        public static let mostVolumes = 16_384

        /// The number of volumes, at least 2.
        public let count: Int
        /// Seconds from one volume to the next, above 0; nil if the header states no time, or no unit of it.
        public let step: Double?
        /// Seconds at the first volume, from the field `toffset`.
        public let start: Double

        /// The time of a volume in seconds; nil if it is not known. Rounded to microseconds: headers have single precision.
        public func seconds(at index: Int) -> Double? {
            step.map { ((start + Double(index) * $0) * 1e6).rounded() / 1e6 }
        }
    }
}

extension NIfTIHeaderParser {
    /// Intents of several values for one voxel, which some files have along the fourth axis: matrices, vectors, quaternions,
    /// colours.
    private static let vectorIntents: Set<Int> = [1004, 1005, 1006, 1007, 1008, 1009, 1010, 2003, 2004]

    /// The fourth axis; nil when it has one volume or is not there.
    func time(_ sizes: [Int], _ text: String) throws(VolumeFileError) -> VolumeFileHeader.TimeSeries? {
        guard sizes.count > 3, sizes[3] > 1 else { return nil }
        let intent = fields.code(at: fields.layout.intentCode)
        if Self.vectorIntents.contains(intent) {
            throw VolumeFileError(
                .notThreeDimensional,
                path: path,
                "4-D image (\(text)) with several values for each voxel (intent code \(intent)), not a time series"
            )
        }
        // The upper bits of `xyzt_units`: 8 s, 16 ms, 24 µs; 32, 40 and 48 are spectra.
        let unit = fields.units & 0x38
        guard ![32, 40, 48].contains(unit) else {
            let name = [32: "Hz", 40: "ppm", 48: "rad/s"][unit] ?? ""
            throw VolumeFileError(
                .notThreeDimensional,
                path: path,
                "4-D image (\(text)) whose fourth axis is in \(name), not a time series"
            )
        }
        guard sizes[3] <= VolumeFileHeader.TimeSeries.mostVolumes else {
            throw VolumeFileError(
                .invalidDimensions,
                path: path,
                "4-D image (\(text)): more than \(VolumeFileHeader.TimeSeries.mostVolumes) volumes in the file"
            )
        }
        let seconds: Double? = [8: 1, 16: 1e-3, 24: 1e-6][unit]
        let step = fields.real(at: fields.layout.pixelDimensions, index: 4)
        let start = fields.real(at: fields.layout.timeOffset)
        return VolumeFileHeader.TimeSeries(
            count: sizes[3],
            step: seconds.flatMap { step.isFinite && step > 0 ? step * $0 : nil },
            start: start.isFinite ? start * (seconds ?? 1) : 0
        )
    }
}
