import Foundation
import NocturneConcurrency
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Objects with one SeriesInstanceUID are divided by patient, study and frame of reference")
struct SeriesOriginTests {
    /// Elements of one patient's objects.
    typealias Facts = [UInt32: String]

    private static let (identifier, name, birthDate): (UInt32, UInt32, UInt32) = (0x0010_0020, 0x0010_0010, 0x0010_0030)
    private static let (studyUID, studyDate, frame): (UInt32, UInt32, UInt32) = (0x0020_000D, 0x0008_0020, 0x0020_0052)
    private static let (issuer, sex, accession): (UInt32, UInt32, UInt32) = (0x0010_0021, 0x0010_0040, 0x0008_0050)
    private static let (studyTime, seriesDate): (UInt32, UInt32) = (0x0008_0030, 0x0008_0021)
    private static let (modality, number, series): (UInt32, UInt32, UInt32) = (0x0008_0060, 0x0020_0011, 0x0020_000E)

    /// `count` slices whose data sets have these elements; an empty text removes one.
    private func stack(_ count: Int, from height: Double = 30, facts: @escaping (Int) -> Facts) -> [TestSlice] {
        TestSlice.stack(count, origin: SIMD3(-10, 20, height)).enumerated().map { index, slice in
            var slice = slice
            slice.instanceUID = "1.2.9.\(height).\(index)"
            slice.change = { set in
                for (tag, value) in facts(index) {
                    if value.isEmpty { set.remove(tag) } else { set.text(tag, "LO", value) }
                }
            }
            return slice
        }
    }

    /// - Parameter stacks: by the start of their files' names.
    private func files(_ stacks: [String: [TestSlice]]) -> [String: [UInt8]] {
        var files: [String: [UInt8]] = [:]
        for (start, slices) in stacks {
            for (index, slice) in slices.enumerated() { files["\(start)\(index + 100)"] = slice.file() }
        }
        return files
    }

    @Test(
        "each of the elements alone divides slices that interleave or follow each other",
        arguments: [
            identifier, issuer, name, birthDate, sex, studyUID, studyDate, studyTime, accession, modality, frame,
            number,
        ],
        [0.75, 12.0]
    )
    func divides(tag: UInt32, shift: Double) throws {
        let values =
            switch tag {
            case Self.modality: ["CT", "PT"]
            case Self.sex: ["M", "F"]
            case Self.studyTime: ["101500", "111500"]
            default: ["19700101", "19800202"]
            }
        let own = stack(8) { _ in [tag: values[0]] }
        let other = stack(8, from: 30 + shift) { _ in [tag: values[1]] }
        try withScan(files(["a/": own, "b/": other])) { scan in
            #expect(scan.series.map(\.slices.count) == [8, 8])
            for series in scan.series {
                #expect(series.problem == nil && series.part == nil)
                #expect(Set(series.files.map { ($0 as NSString).deletingLastPathComponent }).count == 1)
                #expect(series.notes.texts.first?.contains("are those of 2 series") == true)
                #expect(series.notes.texts.allSatisfy { !$0.contains("19700101") && !$0.contains("19800202") })
            }
        }
        // In one folder the parts have names.
        try withScan(files(["a/x": own, "a/y": other])) { scan in
            #expect(scan.series.map(\.slices.count) == [8, 8])
            #expect(Set(scan.series.map(\.part)).count == 2 && scan.series.allSatisfy { $0.part != nil })
        }
    }

    @Test("objects of one folder without a SeriesInstanceUID are divided too")
    func withoutUID() throws {
        let own = stack(8) { _ in [Self.series: "", Self.identifier: "A"] }
        let other = stack(8, from: 30.75) { _ in [Self.series: "", Self.identifier: "B"] }
        try withScan(files(["a/x": own, "a/y": other])) { scan in
            #expect(scan.series.map(\.slices.count) == [8, 8])
            #expect(scan.series.map(\.part) == ["patient1", "patient2"])
        }
    }

    @Test("parts by SeriesNumber have the numbers as names, in their order")
    func seriesNumbers() throws {
        let stacks = [("a", "10"), ("b", ""), ("c", "9")].enumerated().map { place, pair in
            (pair.0, stack(4, from: 30 + 12 * Double(place)) { _ in [Self.number: pair.1] })
        }
        var all: [String: [UInt8]] = [:]
        for (start, slices) in stacks { all.merge(files(["a/\(start)": slices])) { $1 } }
        try withScan(all) { scan in
            #expect(scan.series.map(\.part) == ["numbermissing", "number9", "number10"])
            let heights = scan.series.map { $0.slices.first?.plane.position?.z }
            #expect(heights == [42, 54, 30])
        }
    }

    @Test("objects with the same UIDs and positions, of two patients")
    func allEqual() throws {
        let own = stack(8) { _ in [Self.identifier: "A"] }
        let other = stack(8) { _ in [Self.identifier: "B"] }
        try withScan(files(["a/": own, "b/": other])) { scan in
            #expect(scan.series.map(\.slices.count) == [8, 8])
            #expect(scan.series.allSatisfy { $0.problem == nil })
        }
    }

    @Test("pseudonyms divide objects whose identity was removed")
    func pseudonyms() throws {
        let own = stack(8) { _ in [Self.identifier: "A", 0x0012_0062: "YES"] }
        let other = stack(8, from: 30.75) { _ in [Self.identifier: "B", 0x0012_0062: "YES"] }
        try withScan(files(["a/": own, "b/": other])) { #expect($0.series.map(\.slices.count) == [8, 8]) }
    }

    @Test(
        "the spelling of a value does not divide",
        arguments: [
            (name, ["DOE^JOHN", "Doe^John ", "Doe^John^^", "DOE JOHN"]), (issuer, ["St. Mary", "ST. MARY "]),
            (studyTime, ["1015", "101500", "10:15:00", "101500.250"]), (sex, ["M", "O", "m"]),
        ]
    )
    func spelling(tag: UInt32, values: [String]) throws {
        try withScan(files(["a/": stack(8) { [tag: values[$0 % values.count]] }])) { scan in
            #expect(scan.series.map(\.slices.count) == [8])
            #expect(scan.series[0].notes.texts.allSatisfy { $0.contains("PatientSex (0010,0040) is missing") })
        }
    }

    @Test("dates of the images, and times of which most slices have their own, do not divide, with a note")
    func imageTimes() throws {
        let names = [Self.seriesDate: "SeriesDate (0008,0021)", Self.studyTime: "StudyTime (0008,0030)"]
        for (tag, name) in names {
            let own = stack(8) { index in
                [tag: tag == Self.studyTime ? "10150\(min(index, 6))" : index < 4 ? "20200101" : "20200102"]
            }
            try withScan(files(["a/": own])) { scan in
                let series = try #require(scan.series.first)
                #expect(scan.series.count == 1 && series.slices.count == 8 && series.problem == nil)
                let count = tag == Self.studyTime ? 7 : 2
                let note = "the files have \(count) values of \(name), which was not used to divide the series"
                #expect(series.notes.texts == [note])
            }
        }
    }

    @Test("objects that do not state an element are put to the others, with a note")
    func missing() throws {
        try withScan(files(["a/": stack(8) { [Self.identifier: $0 % 2 == 0 ? "" : "A"] }])) { scan in
            let series = try #require(scan.series.first)
            #expect(scan.series.count == 1 && series.slices.count == 8 && series.problem == nil)
            #expect(
                series.notes.texts == ["PatientID (0010,0020) is missing in 4 of 8 files, which were put to the others"]
            )
        }
    }

    @Test("objects that could be of either patient are put to neither")
    func ambiguous() throws {
        let own = stack(4) { _ in [Self.identifier: "A"] }
        let other = stack(4, from: 36) { _ in [Self.identifier: "B"] }
        let unknown = stack(4, from: 42) { _ in [Self.identifier: ""] }
        try withScan(files(["a/": own, "b/": other, "c/": unknown])) { scan in
            #expect(scan.series.map(\.slices.count) == [4, 4, 4])
        }
    }

    @Test(
        "a study, frame of reference or number of every object's own is not used, with a note",
        arguments: [
            (studyUID, "StudyInstanceUID (0020,000D)"), (frame, "FrameOfReferenceUID (0020,0052)"),
            (number, "SeriesNumber (0020,0011)"),
        ]
    )
    func ofEachObject(tag: UInt32, name: String) throws {
        let own = stack(8) { [tag: tag == Self.number ? "\($0)" : "1.2.\($0)"] }
        try withScan(files(["a/": own])) { scan in
            let series = try #require(scan.series.first)
            #expect(scan.series.count == 1 && series.slices.count == 8 && series.problem == nil)
            let note = "every file has a different \(name), which was not used to divide the series"
            #expect(series.notes.texts == [note])
        }
    }

    @Test("a series in two folders says so")
    func folders() throws {
        let all = stack(8) { _ in [Self.identifier: "A"] }
        try withScan(files(["a/": Array(all[..<4]), "b/": Array(all[4...])])) { scan in
            let series = try #require(scan.series.first)
            #expect(scan.series.count == 1 && series.problem == nil)
            #expect(series.notes.count == 1)
            #expect(
                series.notes.texts[0].hasPrefix(
                    "files of 2 folders have one SeriesInstanceUID (0020,000E) and PatientID"
                )
            )
        }
    }

    @Test("objects that share positions are named with their folders where their names are equal")
    func duplicates() throws {
        var others = stack(8) { _ in [:] }
        for index in others.indices { others[index].cells[0] += 1 }
        try withScan(files(["a/": stack(8) { _ in [:] }, "b/": others])) { scan in
            let problem = try #require(scan.series.first?.problem)
            #expect(problem.code == .duplicateSlices)
            #expect(problem.detail.contains("a/100 and b/100"))
        }
    }
}
