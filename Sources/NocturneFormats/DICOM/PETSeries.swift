import NocturneSystem

extension DICOMSeries {
    /// The parts of one series, with what only all parts of a PET series show: when each was acquired.
    ///
    /// Values of all frames and beds are corrected to one time, the start of the scan: without a usable time of the series it is that of
    /// the first acquisition of all parts (``SUVFactor``).
    static func completingPET(_ parts: [DICOMSeries]) -> [DICOMSeries] {
        let first = firstAcquisition(parts.flatMap(\.slices))
        return parts.map { part in
            guard part.modality == "PT" else { return part }
            var part = part
            if let first, let own = firstAcquisition(part.slices) {
                part.secondsIntoScan = (own - first).remainder(dividingBy: PETHeader.Moment.secondsOfDay)
            }
            return part
        }
    }

    /// Seconds of the day of the first slice. All slices of a scan are acquired within twelve hours, over midnight if need be.
    private static func firstAcquisition(_ slices: [DICOMSlice]) -> Double? {
        slices.compactMap(\.plane.acquisitionTime).min {
            ($0 - $1).remainder(dividingBy: PETHeader.Moment.secondsOfDay) < 0
        }
    }
}
