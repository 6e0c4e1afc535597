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

    private func header(_ slices: [TestSlice]) throws -> PETHeader {
        try TemporaryFolder.with("pet") { folder in
            let paths = try slices.enumerated().map { try folder.write($1.file(), to: "\($0).dcm").path }
            return try PETHeader(paths: paths, scope: .serial())
        }
    }

    /// Minutes from the injection to the start of the scan, by the factor.
    private func minutes(_ header: PETHeader) throws -> Double {
        6586.2 * log2(try SUVFactor(header).value * 370e6 / 70_000) / 60
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
}
