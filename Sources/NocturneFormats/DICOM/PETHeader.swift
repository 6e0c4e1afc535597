internal import CDCMTK
internal import CDICOMParser
internal import Glibc
public import NocturneConcurrency
public import NocturneSystem

/// What the headers of a PET series state about its activity: what ``SUVFactor`` needs.
///
/// Weight and times identify a patient together with other facts: they are for computing, not for results.
public struct PETHeader: Sendable, Hashable {
    /// A moment in the time zone of the scanner.
    public struct Moment: Sendable, Hashable {
        /// Days since 1 January 1970; nil where no date is stated.
        public var day: Int?
        /// Seconds of the day.
        public var seconds: Double

        /// - Parameters:
        ///   - day: days since 1 January 1970; nil where no date is stated.
        ///   - seconds: of the day.
        public init(day: Int? = nil, seconds: Double) { (self.day, self.seconds) = (day, seconds) }
    }

    /// Units: "BQML", "GML", "CNTS", …
    public var units: String?
    /// SUVType: "BW", "LBM", …; nil means body weight.
    public var suvType: String?
    /// CorrectedImage: "ATTN", "DECY", …
    public var corrections: [String] = []
    /// DecayCorrection: "START", "ADMIN" or "NONE".
    public var decayCorrection: String?
    /// kg.
    public var weight: Double?
    /// The number of administered radiopharmaceuticals; the next values are those of the first one.
    public var radiopharmaceuticals = 0
    /// Bq, at the time of the injection.
    public var totalDose: Double?
    /// s.
    public var halfLife: Double?
    /// From the date and time if there is one, else from the time.
    public var injection: Moment?
    /// Whether both state the same time of the day.
    public var statesOneInjection = true
    /// From SeriesDate (0008,0021) and SeriesTime (0008,0031).
    public var series: Moment?
    /// Of the slice that was acquired first.
    public var acquisition: Moment?
    /// The start of the scan as GE states it, (0009,xx0D) in the block of GEMS_PETD_01; nil where slices state several.
    public var scannerStart: Moment?
    /// The start of the scan by the frames: AcquisitionTime - FrameReferenceTime (0054,1300) + the time of the mean count rate in the
    /// frame. Nil where FrameReferenceTime or ActualFrameDuration (0018,1242) of a slice is missing or 0, and where slices do not agree.
    public var frameStart: Moment?
    /// (7053,xx00) of Philips: from values to g/ml.
    public var philipsSUVFactor: Double?
    /// (7053,xx09) of Philips: from values to Bq/ml.
    public var philipsActivityFactor: Double?
    /// On the values above that are there: on those of the acquisition in any slice, on others in the first one.
    var remarks: [ValueRemark] = []
    /// The first element that the slices state differently, but for the time of their acquisition; nil where there is none.
    public var differingElement: String?

    /// Nothing is stated.
    public init() {}

    /// How values were read that are not as the standard has them.
    public var notes: [Note] {
        remarks.filter { !$0.isUnusable && $0.kind != .empty }.map { Note("dicom.repairedValue", $0.sentence) }
    }
}

extension PETHeader {
    /// Reads the headers of all slices of a series, or of a part of one.
    /// - Parameters:
    ///   - paths: at least one.
    ///   - secondsIntoScan: of a part, as in ``DICOMSeries/secondsIntoScan``: its frames do not show when the scan started.
    /// - Complexity: about 0.2 ms per file and thread.
    /// - Throws: ``DICOMReadError`` for the first file that cannot be read; `CancelledError`.
    public init(paths: [String], secondsIntoScan: Double? = nil, scope: ComputeScope) throws {
        let headers = try scope.map(paths.count) { index in
            Result(catching: { () throws(DICOMReadError) in try PETHeader(path: paths[index]) })
        }.map { try $0.get() }
        self = headers.first ?? PETHeader()
        let first = self
        differingElement = headers.lazy.compactMap { $0.difference(from: first) }.first
        for remark in headers.lazy.flatMap(\.remarks) where !Self.isOfSeries(remark) {
            let isKnown = remarks.contains { $0.element == remark.element && $0.isUnusable == remark.isUnusable }
            if !isKnown { remarks.append(remark) }
        }
        acquisition = headers.compactMap(\.acquisition).min { $0.isBefore($1) }?.adding(-(secondsIntoScan ?? 0))
        frameStart = secondsIntoScan == nil ? Self.commonFrameStart(headers) : nil
        let scannerStarts = Set(headers.compactMap(\.scannerStart))
        scannerStart = scannerStarts.count == 1 ? scannerStarts.first : nil
    }

    /// The start of the scan that the frames of all slices give, within a minute; nil where they do not. Then FrameReferenceTime counts
    /// from the start of each frame, or AcquisitionTime is one for all of them.
    private static func commonFrameStart(_ headers: [PETHeader]) -> Moment? {
        let starts = headers.compactMap(\.frameStart)
        guard starts.count == headers.count, let first = starts.min(by: { $0.isBefore($1) }) else { return nil }
        return starts.allSatisfy { abs($0.seconds(since: first)) <= 60 } ? first : nil
    }

    /// The first element that another header states differently; nil for none. Slices are acquired one after the other: the
    /// acquisition, the frame and the start that GE states are not compared.
    private func difference(from other: PETHeader) -> String? {
        var same = self
        (same.acquisition, same.frameStart) = (other.acquisition, other.frameStart)
        same.scannerStart = other.scannerStart
        same.remarks = remarks.filter(Self.isOfSeries)
        var other = other
        other.remarks = other.remarks.filter(Self.isOfSeries)
        guard same != other else { return nil }
        return Self.namedElements.first { !$0.isSame(self, other) }?.name ?? "the notation of an element"
    }

    /// AcquisitionDate, AcquisitionTime, ActualFrameDuration and FrameReferenceTime, which each slice states for itself.
    private static let ofAcquisition: Set<UInt32> = [0x0008_0022, 0x0008_0032, 0x0018_1242, 0x0054_1300]

    private static func isOfSeries(_ remark: ValueRemark) -> Bool { !ofAcquisition.contains(remark.element.tag) }

    private static var namedElements: [(name: String, isSame: (PETHeader, PETHeader) -> Bool)] {
        [
            ("Units (0054,1001)", { $0.units == $1.units }),
            ("SUVType (0054,1006)", { $0.suvType == $1.suvType }),
            ("CorrectedImage (0028,0051)", { $0.corrections == $1.corrections }),
            ("DecayCorrection (0054,1102)", { $0.decayCorrection == $1.decayCorrection }),
            ("PatientWeight (0010,1030)", { $0.weight == $1.weight }),
            (
                "RadiopharmaceuticalInformationSequence (0054,0016)",
                { $0.radiopharmaceuticals == $1.radiopharmaceuticals }
            ),
            ("RadionuclideTotalDose (0018,1074)", { $0.totalDose == $1.totalDose }),
            ("RadionuclideHalfLife (0018,1075)", { $0.halfLife == $1.halfLife }),
            (
                "RadiopharmaceuticalStartTime (0018,1072) or RadiopharmaceuticalStartDateTime (0018,1078)",
                { ($0.injection, $0.statesOneInjection) == ($1.injection, $1.statesOneInjection) }
            ),
            ("SeriesDate (0008,0021) or SeriesTime (0008,0031)", { $0.series == $1.series }),
            ("the SUV factor of Philips (7053,xx00)", { $0.philipsSUVFactor == $1.philipsSUVFactor }),
            ("the activity factor of Philips (7053,xx09)", { $0.philipsActivityFactor == $1.philipsActivityFactor }),
        ]
    }

    /// Reads one header.
    /// - Throws: ``DICOMReadError`` when the file cannot be opened or parsed.
    public init(path: String) throws(DICOMReadError) {
        var pet = cdicom_pet()
        var error = cdicom_error()
        let code = cdcmtk_read_pet(path, &pet, &error)
        guard code == CDICOM_OK else { throw DICOMReadError(code, error, path: path) }
        // The shim gives empty texts and NaN for what is missing or unusable.
        func word(_ text: String) -> String? { text.isEmpty ? nil : text }
        self.init()
        units = word(text(pet.units))
        suvType = word(text(pet.suv_type))
        corrections = text(pet.corrected_image).split(separator: "\\").map(trimmed)
        decayCorrection = word(text(pet.decay_correction))
        weight = Self.number(pet.weight)
        radiopharmaceuticals = Int(pet.radiopharmaceuticals)
        totalDose = Self.number(pet.total_dose)
        halfLife = Self.number(pet.half_life)
        philipsSUVFactor = Self.number(pet.philips_suv_factor)
        philipsActivityFactor = Self.number(pet.philips_activity_factor)
        remarks = ValueRemark.all(pet.remarks)
        readScan(pet)
        readInjection(pet)
    }

    private static func number(_ value: Double) -> Double? { value.isFinite ? value : nil }

    private static func moment(_ date: String, _ seconds: Double) -> Moment? {
        number(seconds).map { Moment(day: Moment.day(date), seconds: $0) }
    }

    private mutating func readScan(_ pet: cdicom_pet) {
        let (seriesDate, acquisitionDate) = (text(pet.series_date), text(pet.acquisition_date))
        series = Self.moment(seriesDate, pet.series_time)
        acquisition = Self.moment(acquisitionDate, pet.acquisition_time)
        scannerStart = Moment(dateTime: text(pet.ge_scan_date_time), zone: nil)
        if let acquisition, let offset = scanOffset(reference: pet.frame_reference_time, duration: pet.frame_duration) {
            frameStart = acquisition.adding(-offset)
        }
        for (tag, date) in [(0x0008_0021 as UInt32, seriesDate), (0x0008_0022, acquisitionDate)]
        where !date.isEmpty && Moment.day(date) == nil { remarks.append(ValueRemark(tag, .unusable, text: date)) }
    }

    /// Seconds from the start of the scan to that of a frame; nil where the header does not state them.
    ///
    /// FrameReferenceTime is when the activity of the frame was as its mean count rate: (1/k) ln(kD / (1 - exp(-kD))) after the start
    /// of the frame, for the decay constant k and the duration D.
    /// - Parameters:
    ///   - reference: FrameReferenceTime (0054,1300) in ms.
    ///   - duration: ActualFrameDuration (0018,1242) in ms.
    private func scanOffset(reference: Double, duration: Double) -> Double? {
        // More than 100 days cannot belong to a scan.
        guard let halfLife, halfLife > 0, reference > 0, duration > 0, reference < 1e10, duration < 1e10 else {
            return nil
        }
        let decay = log(2) / halfLife
        let elapsed = decay * duration / 1000
        let mean = log(elapsed / -expm1(-elapsed)) / decay
        return Self.number(reference / 1000 - mean)
    }

    private mutating func readInjection(_ pet: cdicom_pet) {
        // RadiopharmaceuticalStartDateTime (0018,1078); the older RadiopharmaceuticalStartTime (0018,1072) has no date.
        let (dateTime, zone) = (text(pet.start_date_time), text(pet.time_zone))
        let time = Self.moment("", pet.start_time)
        injection = dateTime.isEmpty ? time : Moment(dateTime: dateTime, zone: Moment.minutes(ofZone: zone[...]))
        if let injection, let time {
            let difference = (injection.seconds - time.seconds).remainder(dividingBy: Moment.secondsOfDay)
            statesOneInjection = abs(difference) < 1
        }
        if !dateTime.isEmpty, injection == nil { remarks.append(ValueRemark(0x0018_1078, .unusable, text: dateTime)) }
        if !zone.isEmpty, Moment.minutes(ofZone: zone[...]) == nil, dateTime.contains(where: Moment.isSign) {
            remarks.append(ValueRemark(0x0008_0201, .unusable, text: zone))
        }
    }
}

extension PETHeader.Moment {
    static let secondsOfDay = 86_400.0

    /// From another moment to this one, negative where this one is before it. Where one of them has no date, at most twelve hours are
    /// between them, over midnight if need be.
    func seconds(since other: Self) -> Double {
        let difference = seconds - other.seconds
        if let day, let otherDay = other.day { return Double(day - otherDay) * Self.secondsOfDay + difference }
        return difference.remainder(dividingBy: Self.secondsOfDay)
    }

    /// Whether this moment is before another one, as by ``seconds(since:)``.
    func isBefore(_ other: Self) -> Bool { seconds(since: other) < 0 }

    /// The moment this number of seconds later, or earlier where it is negative; less than a million days.
    func adding(_ more: Double) -> Self {
        let days = ((seconds + more) / Self.secondsOfDay).rounded(.down)
        return Self(day: day.map { $0 + Int(days) }, seconds: seconds + more - days * Self.secondsOfDay)
    }

    /// From "YYYYMMDDHHMMSS.FFFFFF+ZZXX", whose end may be missing after the minutes.
    /// - Parameter zone: of the scanner, in minutes; nil where it is not known: another one in the text is then taken for it.
    /// - Returns: nil for anything else.
    init?(dateTime: String, zone: Int?) {
        let digits = dateTime.prefix { $0.isASCII && $0.isNumber }
        guard digits.count >= 12, let day = Self.day(String(digits.prefix(8))),
            let hour = Int(digits.dropFirst(8).prefix(2)), let minute = Int(digits.dropFirst(10).prefix(2)), hour < 24,
            minute < 60
        else { return nil }
        let rest = dateTime.dropFirst(12).prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        guard let second = rest.isEmpty ? 0 : Double(rest), second < 61 else { return nil }
        let local = Self(day: day, seconds: Double(hour * 3600 + minute * 60) + second)
        guard let sign = dateTime.firstIndex(where: Self.isSign) else {
            self = local
            return
        }
        guard let own = Self.minutes(ofZone: dateTime[sign...]) else { return nil }
        self = local.adding(Double(60 * ((zone ?? own) - own)))
    }

    static func isSign(_ character: Character) -> Bool { character == "+" || character == "-" }

    /// The minutes of an offset from UTC such as "+0130"; nil for anything else.
    static func minutes(ofZone text: Substring) -> Int? {
        let digits = text.dropFirst()
        guard let sign = text.first, isSign(sign), digits.utf8.count == 4,
            digits.allSatisfy({ $0.isASCII && $0.isNumber }), let number = Int(digits), number / 100 <= 14,
            number % 100 < 60
        else { return nil }
        return (sign == "-" ? -1 : 1) * (number / 100 * 60 + number % 100)
    }

    /// The day of "YYYYMMDD", or of the older "YYYY.MM.DD"; nil for anything else.
    static func day(_ date: String) -> Int? {
        let digits = date.filter { $0 != "." }
        guard digits.utf8.count == 8, digits.allSatisfy({ $0.isASCII && $0.isNumber }), let number = Int(digits) else {
            return nil
        }
        let (year, month, day) = (number / 10_000, number / 100 % 100, number % 100)
        guard year > 0, (1...12).contains(month), (1...31).contains(day) else { return nil }
        // Years begin in March, so that leap days are at their end: 365 days, and the days of the months before.
        // 719,468 is the number of days from 1 March of year 0 to 1 January 1970.
        let shifted = month > 2 ? year : year - 1
        let days = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        return 365 * shifted + shifted / 4 - shifted / 100 + shifted / 400 + days - 719_468
    }
}
