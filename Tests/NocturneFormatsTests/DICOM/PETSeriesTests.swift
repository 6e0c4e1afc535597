import Foundation
import NocturneConcurrency
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("The start of a PET scan, to which its values are corrected, and its slices")
struct PETSeriesTests {
    /// Slices of fluorine-18, 370 MBq, 70 kg, injected at 9:00; the series was made at 15:00, after the scan.
    private func slices(
        _ count: Int,
        from first: Int = 1,
        time: String,
        _ change: @escaping (inout DICOMDataSet) -> Void = { _ in }
    ) -> [TestSlice] {
        TestSlice.stack(count).enumerated().map { k, slice in
            var slice = slice
            slice.sopClass = "1.2.840.10008.5.1.4.1.1.128"
            slice.instance = first + k
            // No slice is a copy of one of another frame.
            slice.cells = TestSlice.ramp.map { $0 + UInt16(100 * (first + k)) }
            slice.change = { set in
                set.text(0x0008_0021, "DA", "19940823")
                set.text(0x0008_0022, "DA", "19940823")
                set.text(0x0008_0031, "TM", "150000")
                set.text(0x0008_0032, "TM", time)
                set.text(0x0008_0060, "CS", "PT")
                set.text(0x0010_1030, "DS", "70")
                set.text(0x0028_0051, "CS", "DECY\\ATTN ")
                set.sequence(0x0054_0016, [Self.dose("090000")])
                set.text(0x0054_1001, "CS", "BQML")
                set.text(0x0054_1102, "CS", "START")
                change(&set)
            }
            return slice
        }
    }

    private static func dose(_ time: String?, dateTime: String? = nil) -> DICOMDataSet {
        var dose = DICOMDataSet()
        if let time { dose.text(0x0018_1072, "TM", time) }
        dose.text(0x0018_1074, "DS", "370000000")
        dose.text(0x0018_1075, "DS", "6586.2")
        if let dateTime { dose.text(0x0018_1078, "DT", dateTime) }
        return dose
    }

    private static func frame(_ set: inout DICOMDataSet, reference: String, duration: String = "180000") {
        set.text(0x0018_1242, "IS", duration)
        set.text(0x0054_1300, "DS", reference)
    }

    private func header(_ slices: [TestSlice]) throws -> PETHeader {
        try TemporaryFolder.with("pet") { folder in
            let paths = try slices.enumerated().map { try folder.write($1.file(), to: "\($0).dcm").path }
            return try PETHeader(paths: paths, scope: .serial())
        }
    }

    private func header(of series: DICOMSeries) throws -> PETHeader {
        try PETHeader(paths: series.files, secondsIntoScan: series.secondsIntoScan, scope: .serial())
    }

    /// Minutes from the injection to the start of the scan, by the factor.
    private func minutes(_ header: PETHeader) throws -> Double {
        6586.2 * log2(try SUVFactor(header).value * 370e6 / 70_000) / 60
    }

    @Test("GE's own start counts where the series was made later, in whichever block its creator has")
    func scannerStart() throws {
        for creator in ["GEMS_PETD_01", "GEMS_IDEN_01"] {
            let found = try header(
                slices(1, time: "101000") { set in
                    set.text(0x0009_0010, "LO", "GEMS_IDEN_02")
                    set.text(0x0009_0011, "LO", creator)
                    set.text(0x0009_100D, "DT", "19940823093000")
                    set.text(0x0009_110D, "DT", "19940823100000.00")
                }
            )
            #expect(try abs(minutes(found) - (creator == "GEMS_PETD_01" ? 60 : 70)) < 1e-6)
        }
        let first = try header(
            slices(1, time: "101000") { set in
                set.text(0x0008_0031, "TM", "100500")
                set.text(0x0009_0010, "LO", "GEMS_PETD_01")
                set.text(0x0009_100D, "DT", "19940823100000.00")
            }
        )
        #expect(try abs(minutes(first) - 65) < 1e-6)
    }

    /// The start that GE states in each of three slices, and the minutes to it, or to the first acquisition at 10:10.
    @Test(
        "GE's own start may be missing in some slices, and does not count where it differs",
        arguments: [
            (["19940823100000", "19940823100000", ""], 60.0), (["", "19940823100000", "19940823100000"], 60.0),
            (["19940823100000", "19940823100000", "19940823100500"], 70.0), (["", "", ""], 70.0),
        ]
    )
    func differingScannerStart(starts: [String], expected: Double) throws {
        let found = try header(
            starts.enumerated().flatMap { index, start in
                slices(1, from: index + 1, time: "101\(index)00") { set in
                    guard !start.isEmpty else { return }
                    set.text(0x0009_0010, "LO", "GEMS_PETD_01")
                    set.text(0x0009_100D, "DT", start)
                }
            }
        )
        #expect(try abs(minutes(found) - expected) < 1e-6)
    }

    /// By hand: k = ln 2 / 6586.2 s, D = 180 s, ln(kD / (1 - exp(-kD))) / k = 89.858 s, and 600 s + 89.858 s = 689,858 ms.
    @Test("The frame of the first slice has the start of the scan, if it states a time and a duration")
    func frameStart() throws {
        func frame(_ reference: String, _ duration: String) throws -> Double {
            try minutes(
                header(
                    slices(1, time: "101000") { Self.frame(&$0, reference: reference, duration: duration) }
                )
            )
        }
        #expect(try abs(frame("689858", "180000") - 60) < 1e-5)
        #expect(try abs(frame("0", "180000") - 70) < 1e-6)
        #expect(try abs(frame("689858", "0") - 70) < 1e-6)
        #expect(try abs(frame("", "") - 70) < 1e-6)
        #expect(throws: SUVFactor.Refusal.self) { try frame("early", "180000") }
    }

    /// By hand: k = ln 2 / 6586.2 s, D = 60.5 s, ln(kD / (1 - exp(-kD))) / k = 30.234 s.
    @Test("Slices whose frames state times with a comma have a factor, with one note on each element")
    func repairedFrames() throws {
        let found = try header(
            [("101000", "630234,0"), ("101115", "705234,0")].enumerated().flatMap { index, frame in
                slices(1, from: index + 1, time: frame.0) {
                    Self.frame(&$0, reference: frame.1, duration: "60500,0")
                }
            }
        )
        #expect(try abs(minutes(found) - 60) < 1e-4)
        #expect(found.differingElement == nil && found.notes.count == 2)
    }

    @Test("Values that cannot be read give no factor only where it depends on them, in whichever slice")
    func unusedValues() throws {
        func found(_ change: @escaping (inout DICOMDataSet) -> Void) throws -> Double {
            let second = slices(1, from: 2, time: "101000") { set in
                set.text(0x0054_1300, "DS", "early")
                change(&set)
            }
            return try SUVFactor(header(slices(1, time: "101000", change) + second)).value
        }
        #expect(throws: SUVFactor.Refusal.self) { try found { _ in } }
        #expect(try abs(found { $0.text(0x0008_0031, "TM", "100000") } * 370e6 / 70_000 - exp2(3600 / 6586.2)) < 1e-9)
        let administered = try found { set in
            set.text(0x0054_1102, "CS", "ADMIN")
            set.text(0x0008_0031, "TM", "late")
        }
        #expect(abs(administered - 70_000 / 370e6) < 1e-12)
        func counts(_ tag: UInt32) throws -> Double {
            try found { set in
                set.text(0x0054_1001, "CS", "CNTS")
                set.text(0x7053_0011, "LO", "Philips PET Private Group")
                set.text(0x7053_1100, "DS", "0.0005")
                set.text(tag, "DS", "unknown")
            }
        }
        #expect(try counts(0x0010_1030) == 0.0005)
        #expect(throws: SUVFactor.Refusal.self) { try counts(0x7053_1100) }
    }

    /// One time for all beds; the time of each frame from its own start; and, by hand as above, 904 s + 89.858 s = 993,858 ms.
    @Test("The frames count where those of all slices give one start, else the first acquisition, in every order")
    func disagreeingFrames() throws {
        typealias Frame = (time: String, reference: String)
        func found(_ frames: [Frame]) throws -> Double {
            try minutes(
                header(
                    frames.enumerated().flatMap { index, frame in
                        slices(1, from: index + 1, time: frame.time) { Self.frame(&$0, reference: frame.reference) }
                    }
                )
            )
        }
        let shared: [Frame] = [("100000", "910000"), ("100000", "0"), ("100000", "304000")]
        let own: [Frame] = [("100500", "89858"), ("101000", "89858"), ("100000", "89858")]
        let agreeing: [Frame] = [("101504", "993858"), ("101000", "689858")]
        for frames in [shared, shared.reversed(), own, own.reversed(), agreeing, agreeing.reversed()] {
            #expect(try abs(found(frames) - 60) < 1e-5)
        }
    }

    @Test("Frames that are parts of a series with one AcquisitionTime have that as the start of the scan")
    func sharedTime() throws {
        let files = ["89858", "389858"].enumerated().flatMap { frame, reference in
            slices(4, from: 1 + 4 * frame, time: "100000") { set in
                set.text(0x0020_0100, "IS", "\(frame + 1)")
                Self.frame(&set, reference: reference)
            }
        }
        try withScan(shuffledFiles(files)) { scan in
            #expect(scan.series.map(\.secondsIntoScan) == [0, 0])
            for series in scan.series {
                let found = try minutes(header(of: series))
                #expect(abs(found - 60) < 1e-6, "\(series.part ?? "")")
            }
        }
    }

    @Test("All frames of a series have the factor of the first one, and so the mean of equal values")
    func frames() throws {
        let times = ["100000", "100500", "101000"]
        let files = times.enumerated().flatMap { frame, time in slices(4, from: 1 + 4 * frame, time: time) }
        try withScan(shuffledFiles(files)) { scan in
            #expect(scan.series.map(\.secondsIntoScan) == [0, 300, 600])
            for series in scan.series {
                let found = try minutes(header(of: series))
                #expect(abs(found - 60) < 1e-6, "\(series.part ?? "")")
            }
        }
    }

    @Test("Without dates, slices after midnight are later than those before", arguments: ["235500", "011500"])
    func midnight(series: String) throws {
        let found = try header(
            ["000500", "235500", "001500"].enumerated().flatMap { index, time in
                slices(1, from: index + 1, time: time) { set in
                    set.remove(0x0008_0022)
                    set.text(0x0008_0031, "TM", series)
                    set.sequence(0x0054_0016, [Self.dose("225000")])
                }
            }
        )
        #expect(found.acquisition == .init(seconds: 86_100))
        #expect(try abs(minutes(found) - 65) < 1e-6)
    }

    @Test("The offset of the injection from UTC is applied, or refused where it cannot be read")
    func timeZones() throws {
        func injected(_ dateTime: String, _ zone: String, time: String? = nil) throws -> PETHeader {
            try header(
                slices(1, time: "100000") { set in
                    if !zone.isEmpty { set.text(0x0008_0201, "SH", zone) }
                    set.sequence(0x0054_0016, [Self.dose(time, dateTime: dateTime)])
                }
            )
        }
        #expect(try abs(minutes(injected("19940823080000+0000", "+0100")) - 60) < 1e-6)
        #expect(try abs(minutes(injected("19940823080000+0000", "+0100", time: "090000")) - 60) < 1e-6)
        #expect(try abs(minutes(injected("19940823023000.5-0630", "+0000", time: "090000.5")) * 60 - 3599.5) < 1e-3)
        #expect(try abs(minutes(injected("19940823090000", "+0100")) - 60) < 1e-6)
        #expect(try abs(minutes(injected("19940823090000+0200", "")) - 60) < 1e-6)
        #expect(try injected("19940823233000-0100", "+0000").injection == .init(day: 9001, seconds: 1800))
        let unread = [
            ("19940823080000+00", "+0100"), ("19940823080000++100", "+0100"), ("19940823080000+0000", "CET"),
        ]
        for (dateTime, zone) in unread {
            let refusal = #expect(throws: SUVFactor.Refusal.self) { try SUVFactor(injected(dateTime, zone)) }
            guard case .unusable(let why) = refusal else {
                Issue.record("\(String(describing: refusal))")
                continue
            }
            #expect(why.contains(zone == "CET" ? "(0008,0201)" : "(0018,1078)") && !why.contains("+00"), "\(why)")
        }
    }

    @Test("The factors of Philips are read in the block that its creator has")
    func privateBlock() throws {
        let found = try header(
            slices(1, time: "100000") { set in
                set.text(0x7053_0010, "LO", "Another")
                set.text(0x7053_0011, "LO", "Philips PET Private Group")
                set.text(0x7053_1000, "DS", "9")
                set.text(0x7053_1100, "DS", "0.0005")
                set.text(0x7053_1109, "DS", "1.5")
            }
        )
        #expect(found.philipsSUVFactor == 0.0005 && found.philipsActivityFactor == 1.5)
    }

    @Test("Fewer slices than the header states are noted, but not those of one frame or bed")
    func statedSlices() throws {
        func notes(_ stated: Int, frames: Int) throws -> [String] {
            let files = (0..<frames).flatMap { frame in
                slices(4, from: 1 + 4 * frame, time: "10\(frame)000") { $0.short(0x0054_0081, stated) }
            }
            return try withScan(shuffledFiles(files)) { scan in
                #expect(scan.series.count == frames && scan.series.allSatisfy { $0.problem == nil })
                return scan.series.flatMap(\.notes.texts).filter { $0.contains("NumberOfSlices") }
            }
        }
        let note = "NumberOfSlices (0054,0081) is 6, and 4 slices are here"
        #expect(try notes(6, frames: 1).map { $0.hasPrefix(note) } == [true])
        #expect(try notes(4, frames: 1).isEmpty)
        #expect(try notes(4, frames: 2).isEmpty)
        #expect(try notes(8, frames: 2).isEmpty)
        #expect(try notes(20, frames: 2).count == 2)
    }
}
