internal import NocturneConcurrency
import NocturneSystem

extension DICOMReadError.Code {
    /// Kinds of images that are not a volume, whatever the positions of their slices.
    static let kinds: Set<DICOMReadError.Code> = [.notAnImageClass, .localizer, .colour, .derived]
}

/// Groups objects into series, splits series that contain several volumes, and determines for each part whether it is a
/// volume.
///
/// ``DICOMScanner`` reads the headers and ``DICOMReader`` the pixels; this type makes only the decisions in between. It
/// reads pixels in one case: where two objects have the same SOPInstanceUID (``DuplicateObjects``).
enum SeriesTriage {
    /// The series in `objects`, in the order of their first paths; the parts of one series in the order of the values
    /// that separate them. `objects` are sorted by path.
    static func series(
        of objects: [SharedValue<DICOMObject>],
        rules: DICOMSeries.Rules,
        scope: ComputeScope,
        _ looking: @escaping @Sendable (_ paths: [String]) -> Void
    ) throws(CancelledError) -> [DICOMSeries] {
        var groups: [[SharedValue<DICOMObject>]] = []
        var placeOfKey: [String: Int] = [:]
        // Groups in the order of their first objects, which are sorted by path: a dictionary alone has no order.
        for shared in objects {
            let key = shared.wrappedValue.seriesKey
            if let place = placeOfKey[key] {
                groups[place].append(shared)
            } else {
                placeOfKey[key] = groups.count
                groups.append([shared])
            }
        }
        let grouped = groups
        return try scope.map(groups.count) { index in
            looking(grouped[index].map { $0.wrappedValue.path })
            return SeriesOrigin.parts(grouped[index]).flatMap { part in
                DICOMSeries.completingPET(triaged(part.objects, rules, flag: scope.flag)).map { $0.divided(as: part) }
            }
        }.flatMap { $0 }
    }

    /// One series of exactly these slices, which were found before; it is not split. Derived images are accepted, because
    /// the scan that found them did.
    static func whole(_ slices: [DICOMSlice], corrects: Bool) -> DICOMSeries {
        var fault: DICOMReadError?
        for slice in slices where fault == nil {
            fault = check(slice)
            if fault?.code == .derived { fault = nil }
        }
        if let fault { return refused(slices, fault) }
        return stacked(SliceSplitting.Part(slices: slices), corrects: corrects)
    }

    private static func triaged(
        _ objects: [SharedValue<DICOMObject>],
        _ rules: DICOMSeries.Rules,
        flag: CancellationFlag
    ) -> [DICOMSeries] {
        // Slices by the kind of image that cannot be a volume; nil for the others, which may have a problem too.
        var kinds: [DICOMReadError.Code?: (slices: [DICOMSlice], problem: DICOMReadError?)] = [:]
        var fault: DICOMReadError?
        var unsliced: [DICOMObject] = []
        for object in objects {
            let slices: [DICOMSlice]
            do {
                slices = try DICOMObject.slices(of: object)
            } catch {
                unsliced.append(object.wrappedValue)
                fault = fault ?? error
                continue
            }
            for slice in slices {
                let problem = check(slice)
                let kind = problem.flatMap { DICOMReadError.Code.kinds.contains($0.code) ? $0.code : nil }
                kinds[kind, default: ([], nil)].slices.append(slice)
                if let problem, kinds[kind]?.problem == nil { kinds[kind]?.problem = problem }
            }
        }
        var found: [DICOMSeries] = []
        if let volume = kinds.removeValue(forKey: nil) {
            let slices = volume.slices.sorted(by: SeriesSplitCriterion.isBefore)
            // The first in the order of slices, whichever was found first.
            let first = volume.problem == nil ? nil : slices.lazy.compactMap(check).first
            if let problem = fault ?? first {
                found.append(refused(slices, problem, unsliced: unsliced))
            } else if let localizer = ObjectCheck.threePlaneLocalizer(slices) {
                found.append(refused(slices, localizer))
            } else {
                found += volumes(slices, corrects: rules.correctsStacks, flag: flag)
            }
        } else if let fault {
            found.append(refused([], fault, unsliced: unsliced))
        }
        let aside = kinds.sorted { ($0.key?.rawValue ?? "") < ($1.key?.rawValue ?? "") }
        let isMixed = aside.count + found.count > 1
        for (code, group) in aside {
            guard let code, let problem = group.problem else { continue }
            let slices = group.slices.sorted(by: SeriesSplitCriterion.isBefore)
            if code == .derived, rules.includesDerived {
                found += derived(slices, problem, isMixed: isMixed, rules, flag: flag)
                continue
            }
            var series = refused(slices, problem)
            if isMixed { series.part = code == .notAnImageClass ? "other" : code.rawValue }
            found.append(series)
        }
        return Concatenation.checked(found, of: objects)
    }

    /// Derived images, which form separate volumes.
    private static func derived(
        _ slices: [DICOMSlice],
        _ problem: DICOMReadError,
        isMixed: Bool,
        _ rules: DICOMSeries.Rules,
        flag: CancellationFlag
    ) -> [DICOMSeries] {
        volumes(slices, corrects: rules.correctsStacks, flag: flag).map { series in
            var series = series
            series.notes.append(Note("dicom.derived", "\(problem.detail)"))
            if isMixed { series.part = series.part.map { "derived_\($0)" } ?? "derived" }
            return series
        }
    }

    private static func volumes(_ slices: [DICOMSlice], corrects: Bool, flag: CancellationFlag) -> [DICOMSeries] {
        var copies = DuplicateObjects(slices, flag: flag)
        let parts = SliceSplitting.parts(copies.kept, corrects: corrects)
        var labels: Set<String> = []
        return parts.map { part in
            var part = part
            part.slices = copies.omitImages(from: part.slices, flag: flag)
            var series = stacked(part, corrects: corrects)
            if parts.count > 1 {
                // Parts may have equal labels, as with values that agree after rounding: later ones get a number.
                var label = part.labels.joined(separator: "_")
                let plain = label
                var number = 2
                while !labels.insert(label).inserted {
                    label = "\(plain)-\(number)"
                    number += 1
                }
                series.part = label
                let reasons = part.reasons.joined(separator: "; ")
                series.notes.append(
                    Note("dicom.partOfSeries", "one of \(parts.count) parts of a series: \(reasons)")
                )
            }
            if let note = copies.note(among: part.slices) { series.notes.append(note) }
            return series
        }
    }

    private static func stacked(_ part: SliceSplitting.Part, corrects: Bool) -> DICOMSeries {
        var series = plain(part.slices)
        do throws(DICOMReadError) {
            // Values before geometry: slices of different meaning are not one volume, however even they are.
            try SeriesValues.check(part.slices)
        } catch {
            series.problem = error
            return series
        }
        series.notes += SeriesValues.notes(part.slices)
        do {
            let stack = try SliceStack(of: part.slices, corrects: corrects)
            series.slices = stack.slices
            series.files = DICOMSeries.files(of: stack.slices)
            series.geometry = stack.geometry
            series.correction = stack.correction
            series.notes += stack.notes
            if let correction = stack.correction { series.notes.append(correction.note) }
            switch SliceStack.Sparseness(stack) {
            case .none: break
            case .noted(let note): series.notes.append(note)
            case .fragment(let problem):
                series.geometry = nil
                series.correction = nil
                series.problem = problem
            }
        } catch {
            series.problem = error.error
            series.possibleCorrection = error.correction
        }
        return series
    }

    private static func refused(
        _ slices: [DICOMSlice],
        _ problem: DICOMReadError,
        unsliced: [DICOMObject] = []
    ) -> DICOMSeries {
        var series = plain(slices, unsliced: unsliced)
        series.problem = problem
        return series
    }

    private static func plain(_ slices: [DICOMSlice], unsliced: [DICOMObject] = []) -> DICOMSeries {
        let first = slices.first?.object ?? unsliced.first
        var series = DICOMSeries(
            seriesInstanceUID: first?.seriesInstanceUID ?? "",
            modality: first?.modality ?? "",
            description: first?.seriesDescription,
            slices: slices,
            files: DICOMSeries.files(of: slices) + unsliced.map(\.path)
        )
        if series.seriesInstanceUID.isEmpty {
            series.notes.append(
                Note("dicom.groupedByFolder", "SeriesInstanceUID (0020,000E) is missing: grouped by folder")
            )
        }
        series.notes += SeriesOrigin.notes(of: slices) + ValueRemark.notes(of: slices)
        if slices.contains(where: { $0.object.photometricInterpretation == "MONOCHROME1" }) {
            series.notes.append(
                Note("dicom.monochrome1", "MONOCHROME1: high values mean dark; values and pictures are as stored")
            )
        }
        // Each note once, in the order of slices, and at most eight of them: a report shows kinds, not files.
        for note in slices.reduce(
            into: [Note](),
            { all, slice in
                for note in slice.object.notes where !all.contains(note) { all.append(note) }
            }
        ).prefix(8) { series.notes.append(note) }
        return series
    }

    private static func check(_ slice: DICOMSlice) -> DICOMReadError? {
        do throws(DICOMReadError) {
            try ObjectCheck.check(slice)
            try checkDerivation(slice)
            return nil
        } catch {
            return error
        }
    }

    /// DERIVED alone means little: compressed, resampled and denoised volumes have it too. With one of these values the
    /// image does not hold the measured values of the body.
    private static let derivations: Set<String> = [
        "MPR", "MIP", "MINIP", "CSA MIP", "CSA MPR", "PROJECTION IMAGE", "MAX_IP", "MIN_IP", "REFORMATTED", "CPR",
        "CURVED", "VOLUME", "VRT", "SSD", "RENDERING", "SUBTRACTION", "SUBTRACT", "SUB", "ADC", "EADC", "FA", "RA",
        "TRACEW", "TENSOR", "DIFFUSION", "PERFUSION", "RCBF", "RCBV", "CBF", "CBV", "MTT", "TTP", "TMAX", "T1 MAP",
        "T2 MAP", "T2_STAR MAP", "R2_STAR MAP", "FMRI", "STATISTICS", "SCREEN SAVE", "SUMMARY",
    ]

    /// In enhanced objects the third value names the kind of acquisition, and only the later ones a computation.
    private static let enhancedFlavours: Set<String> = ["VOLUME", "PERFUSION", "DIFFUSION", "FMRI"]

    private static func checkDerivation(_ slice: DICOMSlice) throws(DICOMReadError) {
        guard slice.plane.imageType.first == "DERIVED" else { return }
        var words = slice.plane.imageType.dropFirst(2)
        if slice.object.isEnhanced, let flavour = words.first, enhancedFlavours.contains(flavour) {
            words.removeFirst()
        }
        guard let word = words.first(where: { derivations.contains($0) }) else { return }
        throw slice.error(.derived, "ImageType (0008,0008) is DERIVED and \(word): computed from other images")
    }
}

extension DICOMSeries {
    /// This series as one of those that the objects with one UID are.
    fileprivate func divided(as origin: SeriesOrigin.Part) -> DICOMSeries {
        var series = self
        if let note = origin.note { series.notes.insert(note, at: 0) }
        if let label = origin.label { series.part = series.part.map { "\(label)_\($0)" } ?? label }
        return series
    }
}

extension DICOMObject {
    /// What the objects of one series have in common: its UID, or their folder where they have none. Objects of several series may
    /// have it too (``SeriesOrigin``).
    public var seriesKey: String {
        // A UID never starts with a slash, so the two kinds of keys cannot collide.
        seriesInstanceUID.isEmpty ? "/" + folder : seriesInstanceUID
    }
}
