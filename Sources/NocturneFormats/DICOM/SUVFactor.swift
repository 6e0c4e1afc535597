internal import Glibc

/// The factor from the values of a PET image to standardized uptake values by body weight (SUVbw), in g/ml.
///
/// The computation is QIBA's vendor-neutral one. Activity concentrations (BQML) are divided by the dose per gram of body
/// weight. With the decay correction START, the values are those at the start of the scan, and the dose is decayed from the
/// injection to that time; with ADMIN, both are those at the injection.
///
/// The scan starts at the time of the series. Where that is after the first acquisition, as in series that were made afterwards, it
/// starts at the time that GE states, else at that from which FrameReferenceTime of all slices counts, else at the first acquisition.
public struct SUVFactor: Sendable, Hashable {
    /// Multiplies the values of the image.
    public let value: Double
    /// s; nil where the factor does not depend on it.
    public let halfLife: Double?
    /// The units of the image: "BQML", "GML" or "CNTS".
    public let units: String

    /// - Throws: why there is no factor.
    public init(_ header: PETHeader) throws(Refusal) {
        guard let units = header.units else { throw .unitsMissing }
        if let element = header.differingElement { throw .slicesDiffer(element) }
        let found = try Self.found(header, units)
        guard Self.plausible.contains(found.factor) else { throw .implausible }
        self.units = units
        value = found.factor
        halfLife = found.halfLife
    }

    /// Far more than scanners and doses give; other factors come from damaged headers.
    private static let plausible = 1e-9...1e6

    private typealias Found = (factor: Double, halfLife: Double?)

    private static func found(_ header: PETHeader, _ units: String) throws(Refusal) -> Found {
        switch units {
        case "GML":
            if let type = header.suvType, type != "BW" { throw .otherType(type) }
            return (1, nil)
        case "BQML": return try perActivity(header)
        case "CNTS":
            try check(header, suvFactorOfPhilips)
            if let factor = header.philipsSUVFactor, factor > 0 { return (factor, nil) }
            try check(header, activityFactorOfPhilips)
            guard let factor = header.philipsActivityFactor, factor > 0 else { throw .countsWithoutFactor }
            let found = try perActivity(header)
            return (factor * found.factor, found.halfLife)
        default: throw .otherUnits(units)
        }
    }

    /// The factor from Bq/ml, and the half-life if it was needed.
    private static func perActivity(_ header: PETHeader) throws(Refusal) -> Found {
        let missing = ["ATTN", "DECY"].filter { !header.corrections.contains($0) }
        guard missing.isEmpty else { throw .notCorrected(missing) }
        try check(header, 0x0010_1030, 0x0018_1074)
        guard let weight = header.weight, weight > 0 else { throw .weightMissing }
        guard weight <= mostWeight else { throw .weightTooLarge }
        guard header.radiopharmaceuticals <= 1 else { throw .severalRadiopharmaceuticals }
        guard let dose = header.totalDose, dose > 0 else { throw .doseMissing }
        guard dose >= leastDose else { throw .doseTooSmall }
        let grams = weight * 1000
        switch header.decayCorrection {
        case "ADMIN": return (grams / dose, nil)
        case "START":
            try check(header, 0x0018_1075, 0x0018_1072, 0x0018_1078, 0x0008_0201)
            guard let halfLife = header.halfLife, halfLife > 0 else { throw .halfLifeMissing }
            guard let injection = header.injection else { throw .injectionTimeMissing }
            guard header.statesOneInjection else { throw .injectionTimesDiffer }
            guard let start = try scanStart(header) else { throw .scanTimeMissing }
            let elapsed = try interval(from: injection, to: start, halfLife: halfLife)
            return (grams / (dose * exp2(-elapsed / halfLife)), halfLife)
        default: throw .otherDecayCorrection(header.decayCorrection)
        }
    }

    private static let (suvFactorOfPhilips, activityFactorOfPhilips) = (0x7053_1000 as UInt32, 0x7053_1009 as UInt32)

    /// Refuses values that this computation uses where they are there and cannot be used.
    private static func check(_ header: PETHeader, _ tags: UInt32...) throws(Refusal) {
        // A private element has the block that its creator reserved.
        func withoutBlock(_ tag: UInt32) -> UInt32 { tag >> 16 == 0x7053 ? tag & 0xFFFF_00FF : tag }
        let used = tags.map(withoutBlock)
        let fault = header.remarks.first { $0.isUnusable && used.contains(withoutBlock($0.element.tag)) }
        if let fault { throw .unusable(fault.description) }
    }

    /// Bq. Smaller values are implausible as a dose; the header may state MBq, which the standard does not allow.
    private static let leastDose = 1e5

    /// kg. More than a person or a horse weighs; the header may state grams, which the standard does not allow.
    private static let mostWeight = 1000.0

    /// The start of the scan, to which the values of START are corrected.
    private static func scanStart(_ header: PETHeader) throws(Refusal) -> PETHeader.Moment? {
        try check(header, 0x0008_0021, 0x0008_0022, 0x0008_0031, 0x0008_0032)
        guard let acquisition = header.acquisition else { return header.series ?? header.scannerStart }
        if let series = header.series, !acquisition.isBefore(series) { return series }
        if let start = header.scannerStart { return start }
        try check(header, 0x0018_1242, 0x0054_1300)
        return header.frameStart ?? acquisition
    }

    private static let day = PETHeader.Moment.secondsOfDay

    /// s. From here on images are made days after the injection, so times without dates are not enough.
    private static let longHalfLife = day / 2

    /// Seconds from the injection to the scan.
    ///
    /// Where the injection or the scan has no date, the injection is on the day of the scan, or on the day before if the scan
    /// then starts at most twelve hours later: otherwise one of the times is wrong. For nuclides of a long half-life both dates are
    /// needed.
    private static func interval(
        from injection: PETHeader.Moment,
        to start: PETHeader.Moment,
        halfLife: Double
    ) throws(Refusal) -> Double {
        let seconds = start.seconds - injection.seconds
        guard let first = injection.day, let last = start.day else {
            guard halfLife < longHalfLife else { throw .injectionDateMissing }
            if seconds >= 0 { return seconds }
            guard seconds + day <= day / 2 else { throw .injectionAfterScan }
            return seconds + day
        }
        let elapsed = Double(last - first) * day + seconds
        guard elapsed >= 0 else { throw .injectionAfterScan }
        // Days are usual for zirconium-89 and iodine-124.
        guard elapsed <= max(day, 10 * halfLife) else { throw .injectionTooEarly }
        return elapsed
    }

    /// Why there is no factor.
    public enum Refusal: Error, Sendable, Hashable, CustomStringConvertible {
        case unitsMissing
        case otherUnits(String)
        /// Values that are SUV already, but by something else than body weight.
        case otherType(String)
        case countsWithoutFactor
        /// The element that the slices of one series state differently.
        case slicesDiffer(String)
        case notCorrected([String])
        case otherDecayCorrection(String?)
        case weightMissing
        case weightTooLarge
        case severalRadiopharmaceuticals
        case doseMissing
        case doseTooSmall
        case halfLifeMissing
        case injectionTimeMissing
        case injectionDateMissing
        case injectionTimesDiffer
        /// A value that is there; the text names it, and why it cannot be used.
        case unusable(String)
        case scanTimeMissing
        case injectionAfterScan
        case injectionTooEarly
        case implausible

        /// What is missing, with the elements that would be needed; no value of them that identifies a patient.
        public var description: String {
            switch self {
            case .unitsMissing: "Units (0054,1001) is missing"
            case .otherUnits(let units): "Units (0054,1001) is \(units); BQML, GML, or CNTS of Philips is needed"
            case .otherType(let type): "the values are SUV by \(type) (SUVType 0054,1006), not by body weight"
            case .countsWithoutFactor:
                "Units (0054,1001) is CNTS, and the factor of Philips (7053,xx00) or (7053,xx09) is missing or 0"
            case .slicesDiffer(let element): "the slices of the series differ in \(element)"
            case .notCorrected(let missing):
                "CorrectedImage (0028,0051) does not have " + missing.joined(separator: " and ")
            case .otherDecayCorrection(let found):
                "DecayCorrection (0054,1102) is \(found ?? "missing"); START or ADMIN is needed"
            case .weightMissing: "PatientWeight (0010,1030) is missing or 0"
            case .weightTooLarge: "PatientWeight (0010,1030) is above 1000 kg; it may be stated in grams"
            case .severalRadiopharmaceuticals: "several radiopharmaceuticals (0054,0016) are stated"
            case .doseMissing: "RadionuclideTotalDose (0018,1074) is missing or 0"
            case .doseTooSmall: "RadionuclideTotalDose (0018,1074) is below 100 kBq; it may be stated in MBq"
            case .halfLifeMissing: "RadionuclideHalfLife (0018,1075) is missing or 0"
            case .injectionTimeMissing:
                "RadiopharmaceuticalStartTime (0018,1072) or RadiopharmaceuticalStartDateTime (0018,1078) is missing"
            case .injectionDateMissing:
                "the date of the injection (0018,1078) or of the scan is missing, and with a half-life of 12 hours or more days may "
                    + "lie between them"
            case .injectionTimesDiffer:
                "RadiopharmaceuticalStartTime (0018,1072) and RadiopharmaceuticalStartDateTime (0018,1078) state different times"
            case .unusable(let why): why
            case .scanTimeMissing: "SeriesTime (0008,0031) and AcquisitionTime (0008,0032) are missing"
            case .injectionAfterScan: "the injection (0018,1072 or 0018,1078) is after the start of the scan"
            case .injectionTooEarly:
                "the injection (0018,1078) is more than a day and ten half-lives before the start of the scan"
            case .implausible: "weight (0010,1030), dose (0018,1074) and half-life (0018,1075) give no plausible factor"
            }
        }
    }
}
