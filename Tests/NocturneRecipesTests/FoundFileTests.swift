import Foundation
import NocturneRecipeSupport
import NocturneTestSupport
import Testing

@Suite("Files found in the inputs")
struct FoundFileTests {
    @Test(
        "have the paths and names they were made with",
        arguments: [
            ("/in/a/b.nii", "a/b.nii", "in"), ("/in/b.nii", "b.nii", "in"), ("b.nii", "b.nii", ""), ("/b", "b", ""),
            ("/in/a/e\u{301} 日.dcm", "a/e\u{301} 日.dcm", "in"), ("/images/x_0000.nii", "other", "r"),
            ("/in/folder/", "folder", "in"),
        ]
    )
    func parts(path: String, name: String, root: String) {
        let file = FoundFile(path: path, name: name, root: root)
        let start = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
        #expect(file.path.utf8.elementsEqual(path.utf8) && file.name.utf8.elementsEqual(name.utf8) && file.root == root)
        #expect(file.fileName.utf8.elementsEqual(path[start...].utf8))
        #expect(file.folderPath == String(path[..<start].dropLast()))
    }

    @Test("of one folder share what they have in common")
    func folder() {
        let names = ["1.dcm", "10.dcm", "é.dcm", "z"]
        let files = FoundFolder.files(of: "/in/p/CT", name: "p/CT", root: "in", names: names)
        #expect(files.map(\.fileName) == names && files.map(\.path) == names.map { "/in/p/CT/" + $0 })
        #expect(files.map(\.name) == names.map { "p/CT/" + $0 } && Set(files.map(\.folderName)) == ["CT"])
        #expect(FoundFolder.files(of: "/in", name: "", root: "in", names: ["a"])[0].name == "a")
        let alone = names.map { FoundFile(path: "/in/p/CT/" + $0, name: "p/CT/" + $0, root: "in") }
        #expect(files == alone && Set(files) == Set(alone))
        #expect(files[0].neighbour(at: "/in/p/CT/x").name == "p/CT/x")
        #expect(MemoryLayout<FoundFile>.stride == 16)
    }

    @Test("are the same after packing, and those of one folder share it")
    func packing() {
        var files = FoundFolder.files(of: "/in/p/CT", name: "p/CT", root: "in", names: ["1.dcm", "é.dcm", "10.dcm"])
        files[1].isUnresponsive = true
        files += [
            FoundFile(path: "/images/x_0000.nii", name: "other", root: "r"),
            FoundFile(path: "/images/x_0001.nii", name: "other", root: "r"),
            FoundFile(path: "b.nii", name: "b.nii", root: ""),
        ]
        for part in [files, [], Array(files.prefix(1)), files.reversed()] {
            let unpacked = FoundFile.files(packed: FoundFile.packed(part)[...])
            #expect(unpacked == part && unpacked.map(\.fileName) == part.map(\.fileName))
        }
        #expect(FoundFile.packed(Array(files.prefix(3))).count < 60)
    }

    @Test("are in the order of their paths, whatever folders they are in")
    func order() {
        var random = SplitMix64(seed: 11)
        let letters = Array("a/é\u{e9}e\u{301}日.-0")
        func word(_ length: Int) -> String { String((0..<length).map { _ in letters.randomElement(using: &random)! }) }
        for _ in 0..<50 {
            let files = (0..<8).flatMap { _ in
                let folder = "/" + word(Int.random(in: 0...4, using: &random))
                let names = (0..<5).map { _ in word(3).replacing("/", with: "_") }
                return FoundFolder.files(of: folder, name: "", root: "", names: names)
            }
            #expect(files.sorted().map(\.path) == files.map(\.path).sorted())
            let all = FoundFiles(files)
            #expect(Array(all.paths) == Set(files.map(\.path)).sorted())
            for file in files { #expect(all[file.path]?.path == file.path) }
            #expect(all["/none"] == nil && all["~"] == nil && all[""] == nil)
        }
    }

    @Test("of equal paths count once, and others take their place")
    func merging() {
        let first = FoundFile(path: "/a/1", name: "1", root: "a")
        let files = FoundFiles([FoundFile(path: "/a/2", name: "2", root: "a"), first, first])
        #expect(files.map(\.name) == ["1", "2"])
        let merged = files.merging([
            FoundFile(path: "/a/2", name: "b/2", root: "b"), FoundFile(path: "/a/0", name: "0", root: "b"),
        ])
        #expect(merged.map(\.name) == ["0", "1", "b/2"] && files.merging([]).map(\.name) == ["1", "2"])
    }
}
