import Foundation
import NocturneInference
import NocturneSystem
import NocturneTestSupport
import NocturneVolumes
import Testing

/// A section that is refused, and the key that the error names.
private struct ProgramRefusal: Sendable, CustomTestStringConvertible {
    let section: String
    let key: String

    init(_ section: String, _ key: String) {
        self.section = section
        self.key = key
    }

    var testDescription: String { section }

    private static let parts =
        #""parts": [{"packages": ["parts/low"], "labels": {"1": 1}}, {"packages": ["parts/high"], "labels": {"1": 2}}]"#

    static let all = [
        ProgramRefusal(#"{"parts": []}"#, "volumeProgram.parts"),
        ProgramRefusal(#"{"parts": [{"packages": []}]}"#, "volumeProgram.parts[0].packages"),
        ProgramRefusal(#"{"parts": [{"packages": ["parts/none"]}]}"#, "volumeProgram.parts[0].packages[0]"),
        ProgramRefusal(#"{"parts": [{"packages": ["../low"]}]}"#, "volumeProgram.parts[0].packages[0]"),
        ProgramRefusal(
            #"{"parts": [{"packages": ["parts/low", "parts/low"]}]}"#,
            "volumeProgram.parts[0].packages[1]"
        ),
        ProgramRefusal(
            #"{"parts": [{"packages": ["parts/low"], "labels": {"7": 1}}]}"#,
            "volumeProgram.parts[0].labels"
        ),
        ProgramRefusal(
            #"{"parts": [{"packages": ["parts/low"], "labels": {"1": 9}}]}"#,
            "volumeProgram.parts[0].labels.1"
        ),
        // The names of its labels are not those of the program.
        ProgramRefusal(#"{"parts": [{"packages": ["parts/low"]}]}"#, "volumeProgram.parts[0].labels"),
        // No part gives the second label.
        ProgramRefusal(#"{"parts": [{"packages": ["parts/low"], "labels": {"1": 1}}]}"#, "labels"),
        ProgramRefusal(#"{"grid": {"spacing": [1, 0, 1]}, \#(parts)}"#, "volumeProgram.grid.spacing"),
        ProgramRefusal(
            #"{"grid": {"spacing": [1, 1, 1], "orientation": "stored"}, \#(parts)}"#,
            "volumeProgram.grid.orientation"
        ),
        ProgramRefusal(
            #"{"grid": {"spacing": [1, 1, 1], "resampling": {"method": "zoom", "order": 3}}, \#(parts)}"#,
            "volumeProgram.grid.resampling.order"
        ),
        ProgramRefusal(
            #"{"grid": {"spacing": [1, 1, 1], "resampling": {"method": "torch"}}, \#(parts)}"#,
            "volumeProgram.grid.resampling.method"
        ),
        ProgramRefusal(
            #"{"region": {"package": "parts/high", "labels": ["none"]}, \#(parts)}"#,
            "volumeProgram.region.labels"
        ),
        ProgramRefusal(
            #"{"region": {"package": "parts/high", "marginMm": -1}, \#(parts)}"#,
            "volumeProgram.region.marginMm"
        ),
        ProgramRefusal(
            #"{"grid": {"spacing": [1, 1, 1], "size": [9, 9, 9]}, \#(parts)}"#,
            "volumeProgram.grid.size"
        ),
        // Without a grid.
        ProgramRefusal(
            #"{"region": {"package": "parts/high", "planeShare": 0.1, "grows": false}, \#(parts)}"#,
            "volumeProgram.region.planeShare"
        ),
        ProgramRefusal(
            #"{"region": {"package": "parts/high", "clip": {"lower": 0.5, "upper": 0.5}}, \#(parts)}"#,
            "volumeProgram.region.clip.upper"
        ),
    ]
}

@Suite("Packages of programs")
struct ProgramPackageTests {
    @Test("a program is read with its members, whose networks are among its files")
    func whole() throws {
        try TemporaryFolder.with { place in
            let path = try ProgramBuilder(section: ProgramBuilder.merged).write(into: place)
            let package = try ModelPackage.checked(folder: path)
            let settings = try VolumeModelSettings(package)
            #expect(settings.parts.map { $0.members.map(\.path) } == [["parts/low"], ["parts/high"]])
            #expect(settings.parts.map(\.labels) == [[1: 1], [1: 2]])
            #expect(settings.networks == ["parts/low/network.onnx", "parts/high/network.onnx"])
            #expect(settings.grid == nil && settings.region == nil)
        }
    }

    @Test("what cannot be used is refused with its key", arguments: ProgramRefusal.all)
    private func refusals(_ refusal: ProgramRefusal) throws {
        try TemporaryFolder.with { place in
            let path = try ProgramBuilder(section: refusal.section).write(into: place)
            let error = #expect(throws: ModelPackageError.self) { try ModelPackage.checked(folder: path) }
            #expect(error?.key == refusal.key)
        }
    }

    @Test("a member that was changed is found by its digest")
    func changedMember() throws {
        try TemporaryFolder.with { place in
            let path = try ProgramBuilder(section: ProgramBuilder.merged).write(into: place)
            let member = "program/parts/low/model.json"
            let text = String(decoding: try FileSystem.read(place(member).path), as: UTF8.self)
            try place.write(text.replacingOccurrences(of: "\"1.0.0\"", with: "\"1.0.1\""), to: member)
            let error = #expect(throws: ModelPackageError.self) { try ModelPackage.checked(folder: path) }
            #expect(error?.code == .damaged && error?.detail.hasPrefix("is damaged: expected SHA-256") == true)
        }
    }
}
