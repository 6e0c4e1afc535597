import NocturneSystem

extension DICOMSeries {
    /// The parts of one series, with what only all parts of a PET series show: when each was acquired, and whether slices are missing.
    ///
    /// Values of all frames and beds are corrected to one time, the start of the scan: without a usable time of the series it is that of
    /// the first acquisition of all parts (``SUVFactor``).
    static func completingPET(_ parts: [DICOMSeries]) -> [DICOMSeries] {
        let first = firstAcquisition(parts.flatMap(\.slices))
        let isDivided = parts.count { $0.modality == "PT" && $0.problem == nil } > 1
        let counts = parts.map(\.slices.count)
        return parts.map { part in
            guard part.modality == "PT" else { return part }
            var part = part
            if isDivided, let first, let own = firstAcquisition(part.slices) {
                part.secondsIntoScan = (own - first).remainder(dividingBy: PETHeader.Moment.secondsOfDay)
            }
            if part.problem == nil, let note = note(part.slices, among: counts) { part.notes.append(note) }
            return part
        }
    }

    /// Seconds of the day of the first slice. All slices of a scan are acquired within twelve hours, over midnight if need be.
    private static func firstAcquisition(_ slices: [DICOMSlice]) -> Double? {
        slices.compactMap(\.plane.acquisitionTime).min {
            ($0 - $1).remainder(dividingBy: PETHeader.Moment.secondsOfDay) < 0
        }
    }

    /// The note where the header states more slices than there are, as nothing else shows what is missing at an end.
    ///
    /// NumberOfSlices counts the slices of one frame in a dynamic series, and those of all beds in another one: for a part it counts
    /// where some part has as many, or where all parts together have fewer.
    private static func note(_ slices: [DICOMSlice], among counts: [Int]) -> Note? {
        let stated = slices.compactMap(\.object.statedSlices).max() ?? 0
        guard slices.count < stated, counts.contains(stated) || counts.reduce(0, +) < stated else { return nil }
        return Note(
            "dicom.fewerSlices",
            "NumberOfSlices (0054,0081) is \(stated), and \(slices.count) slices are here: the others may be missing at an end. "
                + "Export the series again"
        )
    }
}
