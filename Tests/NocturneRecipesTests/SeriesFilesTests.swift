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

    @Test("Of one slice in each file only the number is written; others are listed")
    func slices() throws {
        let files = ["/a/1", "/a/2", "/a/3"]
        let plain = SeriesSlices(files.map { DICOMSlice.Name(path: $0, frame: 0, x: 0, y: 0) }, files: files)
        #expect(try text(plain) == "3" && plain.largestOrigin == (0, 0))
        #expect(plain.all(in: 3)?.map(\.file) == [0, 1, 2])
        let turned = SeriesSlices(
            files.reversed().map { DICOMSlice.Name(path: $0, frame: 0, x: 0, y: 0) },
            files: files
        )
        #expect(try text(turned) == "[[2,0,0,0],[1,0,0,0],[0,0,0,0]]")
        let tiles = SeriesSlices(
            [(1, 0, 0), (1, 64, 0), (1, 0, 32)].map { DICOMSlice.Name(path: "/a/1", frame: $0, x: $1, y: $2) },
            files: files
        )
        #expect(try text(tiles) == "[[0,1,0,0],[0,1,64,0],[0,1,0,32]]" && tiles.largestOrigin == (64, 32))
        for slices in [plain, turned, tiles] {
            #expect(try JSONDecoder().decode(SeriesSlices.self, from: Data(try text(slices).utf8)) == slices)
        }
    }

    @Test("Slices of files that are not there are refused", arguments: ["4", "-1", "[[3,0,0,0]]", "[[-1,0,0,0]]"])
    func damaged(json: String) throws {
        #expect(try JSONDecoder().decode(SeriesSlices.self, from: Data(json.utf8)).all(in: 3) == nil)
    }
}
