import Foundation
import NocturneFormats
import NocturneTestSupport
import NocturneVolumes
import Testing

@Suite("The files and slices of a series as the journal has them")
struct SeriesFilesTests {
    private struct Paths: Codable {
        @FilePaths var files: [String]
    }

    private func text(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    @Test(
        "Paths come back, and those of one folder share it",
        arguments: [
            ([], #"{"files":[]}"#), (["/a/b"], #"{"files":["/a/b"]}"#), (["b", "c"], #"{"files":["b","c"]}"#),
            (["/in/p/1", "/in/p/2"], #"{"files":{"folder":"/in/p/","names":["1","2"]}}"#),
            (["/in/p/1", "/in/q/2"], #"{"files":["/in/p/1","/in/q/2"]}"#),
            (["/in/p/1", "/in/p/q/2"], #"{"files":["/in/p/1","/in/p/q/2"]}"#),
            (["/1", "/2"], #"{"files":{"folder":"/","names":["1","2"]}}"#),
            (["/e\u{301}/1", "/\u{e9}/2"], "{\"files\":[\"/e\u{301}/1\",\"/\u{e9}/2\"]}"),
        ]
    )
    func paths(files: [String], json: String) throws {
        let encoded = try text(Paths(files: files))
        #expect(encoded.utf8.elementsEqual(json.utf8))
        let decoded = try JSONDecoder().decode(Paths.self, from: Data(encoded.utf8)).files
        #expect(decoded.map { Array($0.utf8) } == files.map { Array($0.utf8) })
    }

    @Test("Nothing is written of files that are one slice each; other slices are listed, and come back")
    func slices() {
        let files = ["/a/1", "/a/2", "/a/3"]
        let plain = files.map { DICOMSlice.Name(path: $0) }
        #expect(VolumeSource.slices(plain, in: files) == nil)
        #expect(VolumeSource.names(nil, in: files) == plain)
        let tiles = [(1, 0, 0), (1, 64, 0), (1, 0, 32)].map { DICOMSlice.Name(path: "/a/1", frame: $0, x: $1, y: $2) }
        for (names, listed) in [
            (Array(plain.reversed()), [[2, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]]),
            (Array(plain.dropLast()), [[0, 0, 0, 0], [1, 0, 0, 0]]),
            (tiles, [[0, 1, 0, 0], [0, 1, 64, 0], [0, 1, 0, 32]]),
        ] {
            #expect(VolumeSource.slices(names, in: files) == listed)
            #expect(VolumeSource.names(listed, in: files) == names)
        }
    }

    @Test("Damaged slices and those of missing files are refused", arguments: [[3, 0, 0, 0], [-1, 0, 0, 0], [0]])
    func damaged(slice: [Int]) {
        #expect(VolumeSource.names([[0, 0, 0, 0], slice], in: ["/a/1", "/a/2", "/a/3"]) == nil)
    }
}
