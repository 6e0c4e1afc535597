import Foundation
import NocturneConcurrency
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Standardized uptake values")
struct SUVFactorTests {
    /// Fluorine-18, 370 MBq, 70 kg, 60 minutes from the injection to the scan.
    private static func standard() -> PETHeader {
        var header = PETHeader()
        header.units = "BQML"
        header.corrections = ["DECY", "ATTN", "SCAT"]
        header.decayCorrection = "START"
        header.weight = 70
        header.radiopharmaceuticals = 1
        header.totalDose = 370e6
        header.halfLife = 6586.2
        header.injection = .init(seconds: 9 * 3600)
        header.series = .init(day: 9000, seconds: 10 * 3600)
        header.acquisition = .init(day: 9000, seconds: 10 * 3600 + 90)
        return header
    }

    private static func changed(_ change: (inout PETHeader) -> Void) -> PETHeader {
        var header = standard()
        change(&header)
        return header
    }

    /// By hand: 2^(-3600/6586.2) = 0.684633, so the dose at the scan is 253.3142 MBq, and 70000 g / 253314200 Bq
    /// = 2.763367e-4.
    @Test("370 MBq of fluorine-18, 70 kg and 60 minutes")
    func fluorine() throws {
        let factor = try SUVFactor(Self.standard())
        #expect(abs(factor.value / 2.763367e-4 - 1) < 1e-6, "\(factor.value)")
        #expect(factor.halfLife == 6586.2 && factor.units == "BQML")
    }

    @Test("After two half-lives a quarter of the dose is left")
    func halfLives() throws {
        let header = Self.changed {
            $0.halfLife = 1800
            $0.totalDose = 280e6
        }
        // 70000 g / 70 MBq.
        #expect(try abs(SUVFactor(header).value / 1e-3 - 1) < 1e-12)
    }

    @Test("Values corrected to the injection are divided by the whole dose, without times")
    func administration() throws {
        let header = Self.changed {
            $0.decayCorrection = "ADMIN"
            $0.injection = nil
            $0.halfLife = nil
        }
        let factor = try SUVFactor(header)
        #expect(abs(factor.value - 70_000 / 370e6) < 1e-18 && factor.halfLife == nil)
    }

    /// Minutes from the injection to the scan, which the factor tells.
    private func minutes(_ header: PETHeader) throws -> Double {
        let factor = try SUVFactor(header)
        return 6586.2 * log2(factor.value * 370e6 / 70_000) / 60
    }

    @Test("The scan starts with the series, or with the first slice where the series is later or not known")
    func scanStart() throws {
        #expect(try abs(minutes(Self.standard()) - 60) < 1e-6)
        let later = Self.changed { $0.series = .init(day: 9000, seconds: 15 * 3600) }
        #expect(try abs(minutes(later) - 61.5) < 1e-6)
        let nextDay = Self.changed { $0.series = .init(day: 9001, seconds: 60) }
        #expect(try abs(minutes(nextDay) - 61.5) < 1e-6)
        #expect(try abs(minutes(Self.changed { $0.series = nil }) - 61.5) < 1e-6)
        #expect(try abs(minutes(Self.changed { $0.acquisition = nil }) - 60) < 1e-6)
    }

    @Test("Midnight may lie between injection and scan")
    func midnight() throws {
        let header = Self.changed {
            $0.injection = .init(seconds: 23 * 3600 + 1800)
            $0.series = .init(day: 9000, seconds: 1800)
            $0.acquisition = .init(day: 9000, seconds: 1830)
        }
        #expect(try abs(minutes(header) - 60) < 1e-6)
        let dated = Self.changed {
            $0.injection = .init(day: 8999, seconds: 23 * 3600 + 1800)
            $0.series = .init(day: 9000, seconds: 1800)
        }
        #expect(try abs(minutes(dated) - 60) < 1e-6)
    }

    @Test("Days pass between injection and scan of a long-lived nuclide")
    func zirconium() throws {
        let header = Self.changed {
            $0.halfLife = 282_276
            $0.totalDose = 37e6
            $0.injection = .init(day: 8995, seconds: 10 * 3600)
        }
        // 5 days are 1.530417 half-lives: 2^-1.530417 = 0.346177.
        #expect(try abs(SUVFactor(header).value / (70_000 / (37e6 * 0.346177)) - 1) < 1e-5)
    }

    @Test("Values that are SUV already, and counts of Philips")
    func otherUnits() throws {
        var stored = PETHeader()
        stored.units = "GML"
        #expect(try SUVFactor(stored).value == 1)
        stored.suvType = "BW"
        #expect(try SUVFactor(stored).value == 1)
        var counts = PETHeader()
        counts.units = "CNTS"
        counts.philipsSUVFactor = 0.000551
        #expect(try SUVFactor(counts).value == 0.000551)
        let activity = Self.changed {
            $0.units = "CNTS"
            $0.philipsSUVFactor = 0
            $0.philipsActivityFactor = 2
        }
        #expect(try SUVFactor(activity).value == 2 * SUVFactor(Self.standard()).value)
    }

    private static let refusals: [(SUVFactor.Refusal, @Sendable (inout PETHeader) -> Void)] = [
        (.unitsMissing, { $0.units = nil }),
        (.otherUnits("PROPCPS"), { $0.units = "PROPCPS" }),
        (
            .otherType("LBM"),
            {
                $0.units = "GML"
                $0.suvType = "LBM"
            }
        ),
        (.countsWithoutFactor, { $0.units = "CNTS" }),
        (
            .countsWithoutFactor,
            {
                $0.units = "CNTS"
                $0.philipsSUVFactor = 0
            }
        ),
        (.slicesDiffer("PatientWeight (0010,1030)"), { $0.differingElement = "PatientWeight (0010,1030)" }),
        (.notCorrected(["ATTN"]), { $0.corrections = ["DECY"] }),
        (.notCorrected(["ATTN", "DECY"]), { $0.corrections = [] }),
        (.otherDecayCorrection("NONE"), { $0.decayCorrection = "NONE" }),
        (.otherDecayCorrection(nil), { $0.decayCorrection = nil }),
        (.weightMissing, { $0.weight = nil }),
        (.weightMissing, { $0.weight = 0 }),
        (.severalRadiopharmaceuticals, { $0.radiopharmaceuticals = 2 }),
        (.doseMissing, { $0.totalDose = nil }),
        (.doseMissing, { $0.totalDose = 0 }),
        (.doseTooSmall, { $0.totalDose = 370 }),
        (.halfLifeMissing, { $0.halfLife = nil }),
        (.halfLifeMissing, { $0.halfLife = 0 }),
        (.injectionTimeMissing, { $0.injection = nil }),
        (
            .scanTimeMissing,
            {
                $0.series = nil
                $0.acquisition = nil
            }
        ),
        (.injectionAfterScan, { $0.injection = .init(seconds: 10 * 3600 + 60) }),
        (.injectionAfterScan, { $0.injection = .init(day: 9000, seconds: 10 * 3600 + 60) }),
        (.injectionTimesDiffer, { $0.statesOneInjection = false }),
        (.implausible, { $0.halfLife = 0.001 }),
        (.weightTooLarge, { $0.weight = 70_000 }),
        (.injectionDateMissing, { $0.halfLife = 282_276 }),
        (
            .injectionDateMissing,
            {
                $0.halfLife = 282_276
                $0.injection = .init(day: 8995, seconds: 9 * 3600)
                $0.series = nil
                $0.acquisition = .init(seconds: 10 * 3600)
            }
        ),
        (.injectionTooEarly, { $0.injection = .init(day: 8998, seconds: 9 * 3600) }),
    ]

    @Test("What is missing or impossible is a reason of its own", arguments: refusals.indices)
    func refusal(index: Int) {
        let (expected, change) = Self.refusals[index]
        let found = #expect(throws: SUVFactor.Refusal.self) { try SUVFactor(Self.changed(change)) }
        #expect(found == expected)
        #expect(expected.description.contains("0"))
    }

    // MARK: Headers

    private func slice(_ number: Int, time: String, _ change: @escaping (inout DICOMDataSet) -> Void = { _ in })
        -> TestSlice
    {
        var slice = TestSlice(instance: number)
        slice.change = { set in
            var dose = DICOMDataSet()
            dose.text(0x0018_1072, "TM", "090000.00")
            dose.text(0x0018_1074, "DS", "370000000")
            dose.text(0x0018_1075, "DS", "6586.2")
            set.text(0x0008_0021, "DA", "19940823")
            set.text(0x0008_0022, "DA", "19940823")
            set.text(0x0008_0031, "TM", "100000")
            set.text(0x0008_0032, "TM", time)
            set.text(0x0008_0060, "CS", "PT")
            set.text(0x0010_1030, "DS", "70")
            set.text(0x0028_0051, "CS", "DECY\\ATTN ")
            set.sequence(0x0054_0016, [dose])
            set.text(0x0054_1001, "CS", "BQML")
            set.text(0x0054_1102, "CS", "START")
            change(&set)
        }
        return slice
    }

    private func header(_ slices: [TestSlice]) throws -> PETHeader {
        try TemporaryFolder.with("pet") { folder in
            let paths = try slices.enumerated().map { try folder.write($1.file(), to: "\($0).dcm").path }
            return try PETHeader(paths: paths, scope: .serial())
        }
    }

    @Test("A header is read, and the first slice of the series tells the time")
    func reading() throws {
        let found = try header([slice(1, time: "100130"), slice(2, time: "100130.5"), slice(3, time: "095930")])
        var expected = Self.standard()
        expected.corrections = ["DECY", "ATTN"]
        // 23 August 1994 is 9000 days after 1 January 1970.
        expected.acquisition = .init(day: 9000, seconds: 9 * 3600 + 59 * 60 + 30)
        #expect(found == expected)
        #expect(try abs(minutes(found) - 59.5) < 1e-6)
    }

    @Test("The date of the injection, other types and the factors of Philips are read; slices may differ")
    func otherElements() throws {
        let second = slice(1, time: "100000") { set in
            var dose = DICOMDataSet()
            dose.text(0x0018_1072, "TM", "0800")
            dose.text(0x0018_1078, "DT", "19940822233000.250000+0100")
            set.sequence(0x0054_0016, [dose, dose])
            set.text(0x0054_1006, "CS", "LBM")
            set.text(0x7053_0010, "LO", "Philips PET Private Group")
            set.text(0x7053_1000, "DS", "0.0005")
            set.text(0x7053_1009, "DS", "1.5")
        }
        let found = try header([second])
        #expect(found.injection == .init(day: 8999, seconds: 23 * 3600 + 1800.25))
        #expect(found.radiopharmaceuticals == 2 && found.suvType == "LBM" && found.differingElement == nil)
        #expect(found.philipsSUVFactor == 0.0005 && found.philipsActivityFactor == 1.5)
        #expect(found.totalDose == nil && found.halfLife == nil)
        let foreign = slice(1, time: "100000") { $0.text(0x7053_1000, "DS", "0.0005") }
        #expect(try header([foreign]).philipsSUVFactor == nil)
        #expect(try header([slice(1, time: "100000"), second]).differingElement == "SUVType (0054,1006)")
        let heavier = slice(2, time: "100000") { $0.text(0x0010_1030, "DS", "80") }
        let mixed = try header([slice(1, time: "100000"), heavier])
        #expect(mixed.differingElement == "PatientWeight (0010,1030)" && mixed.units == "BQML")
    }

    /// A slice whose data set, or the item of the dose, states a text.
    private func stating(_ tag: UInt32, _ text: String) -> TestSlice {
        slice(1, time: "100000") { set in
            guard tag >> 16 == 0x0018 else { return set.text(tag, "LO", text) }
            var dose = DICOMDataSet()
            dose.text(0x0018_1072, "TM", "090000.00")
            dose.text(0x0018_1074, "DS", "370000000")
            dose.text(0x0018_1075, "DS", "6586.2")
            dose.text(tag, "LO", text)
            set.sequence(0x0054_0016, [dose])
        }
    }

    private static let repairedValues: [(UInt32, String, String)] = [
        (0x0010_1030, "70,0", "PatientWeight (0010,1030) was read as a number"),
        (0x0010_1030, "70 kg", "PatientWeight (0010,1030) was read as a number"),
        (0x0018_1074, "370000000 Bq", "RadionuclideTotalDose (0018,1074) \"370000000 Bq\" was read as 3.7e+08"),
        (0x0018_1075, "6586,2", "RadionuclideHalfLife (0018,1075) \"6586,2\" was read as 6586.2"),
        (0x0018_1075, "6586.2 s", "RadionuclideHalfLife (0018,1075) \"6586.2 s\" was read as 6586.2"),
    ]

    @Test("Numbers with a comma or their unit are read, with a note", arguments: repairedValues)
    func repaired(tag: UInt32, text: String, note: String) throws {
        let found = try header([stating(tag, text)])
        #expect(try abs(SUVFactor(found).value / SUVFactor(Self.standard()).value - 1) < 1e-12)
        #expect(found.notes.texts == [note])
    }

    private static let unusableValues: [(UInt32, String, Bool)] = [
        (0x0010_1030, "heavy", false), (0x0010_1030, "70000 g", false), (0x0010_1030, "70\\80", false),
        (0x0018_1074, "370 MBq", true), (0x0018_1074, "370,000", true), (0x0018_1074, "370000000\\1", true),
        (0x0018_1075, "109.77 min", true), (0x0018_1072, "9h", false), (0x0018_1072, "250000", false),
        (0x0018_1078, "19940823", false), (0x0018_1078, "1994-08-23 09:00", false), (0x0008_0031, "10h", false),
        (0x0008_0021, "1994-08-23", false), (0x0008_0022, "19941323", false),
    ]

    @Test(
        "Values that are there and cannot be used give no factor, and those of the patient are not shown",
        arguments: unusableValues
    )
    func unusable(tag: UInt32, text: String, isShown: Bool) throws {
        let found = try header([stating(tag, text)])
        let refusal = #expect(throws: SUVFactor.Refusal.self) { try SUVFactor(found) }
        guard case .unusable(let why) = refusal else {
            Issue.record("\(String(describing: refusal))")
            return
        }
        #expect(why.contains("cannot be used") && why.contains("\"\(text)\"") == isShown)
    }

    @Test("Two times of the injection that differ give no factor")
    func injectionTimes() throws {
        let equal = try header([stating(0x0018_1078, "19940823090000.00")])
        #expect(try SUVFactor(equal).value == SUVFactor(Self.standard()).value)
        let other = try header([stating(0x0018_1078, "19940823070000.00+0000")])
        #expect(throws: SUVFactor.Refusal.injectionTimesDiffer) { try SUVFactor(other) }
    }

    @Test("A header without these elements is read too")
    func other() throws {
        let found = try header([TestSlice()])
        #expect(found == PETHeader())
        #expect(throws: SUVFactor.Refusal.unitsMissing) { try SUVFactor(found) }
    }
}
