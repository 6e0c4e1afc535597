import NocturneBatch
import NocturneCore
import NocturneJournal
import NocturneOutput
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Names of items")
struct ItemNamesTests {
    /// - Parameter path: of a file, whose name without extension names the item.
    private func item(_ path: String, suffix: String = "", words: [String] = []) -> DiscoveredItem {
        let file = path.split(separator: "/").last.map(String.init) ?? ""
        var item = DiscoveredItem(
            key: "file:" + path + suffix,
            name: String(file.prefix { $0 != "." }) + suffix,
            model: "m",
            path: path,
            fingerprint: .of(path)
        )
        (item.suffix, item.words) = (suffix, words)
        return item
    }

    private func names(
        _ items: [DiscoveredItem],
        _ identifiers: IdentifierPolicy = .hash,
        below inputs: [String] = ["/in"]
    ) throws -> [String] {
        let table = try FoundTable()
        try table.add(items)
        try table.order()
        try ItemNames(table, identifiers, below: inputs).find()
        return try table.candidates(after: 0).map { try #require($0.preferredName).name }
    }

    @Test(
        "Equal names get all folders below the input in front; others stay",
        arguments: [
            (
                ["/in/sub-001/ct/ct.nii", "/in/sub-002/ct/ct.nii", "/in/x/mr.nii"],
                ["sub-001_ct_ct", "sub-002_ct_ct", "mr"]
            ),
            (
                ["/in/sts1/CT/image.nii", "/in/sts1/PET/image.nii", "/in/sts2/CT/image.nii"],
                ["sts1_CT_image", "sts1_PET_image", "sts2_CT_image"]
            ),
            (["/in/a/x/i.nii", "/in/b/y/i.nii"], ["a_x_i", "b_y_i"]), (["/in/i.nii", "/in/a/I.nii"], ["i", "a_I"]),
            // Not in the input.
            (["/a.nii", "/b/a.nii"], ["a", "a"]),
            // One folder: nothing tells them apart.
            (["/in/a.jpg", "/in/a.png"], ["a", "a"]),
            (["/in/p/a.jpg", "/in/p/a.png", "/in/q/a.png"], ["p_a", "p_a", "q_a"]),
            // A folder whose name is no folder's name in the output, and one that differs in case only.
            (["/in/a b/i.nii", "/in/-c/i.nii"], ["a_b_i", "c_i"]), (["/in/A/i.nii", "/in/a/i.nii"], ["A_i", "a_i"]),
            // Equal to the name of a file, which has no folder; and of one that has.
            (["/in/a/i.nii", "/in/b/i.nii", "/in/a_i.nii"], ["a_i", "b_i", "a_i"]),
            (["/in/a/i.nii", "/in/b/i.nii", "/in/x/a_i.nii"], ["a_i", "b_i", "x_a_i"]),
        ] as [([String], [String])]
    )
    func folders(paths: [String], expected: [String]) throws {
        let items = paths.map { item($0) }
        #expect(try names(items) == expected)
        #expect(try names(items.reversed()) == expected.reversed())
    }

    @Test("With several inputs, names that folders below them leave equal begin below the folder of all inputs")
    func severalInputs() throws {
        func names(_ paths: [String], below inputs: [String]) throws -> [String] {
            let items = paths.map { item($0) }
            let names = try self.names(items, below: inputs)
            #expect(try self.names(items.reversed(), below: inputs) == names.reversed())
            return names
        }
        #expect(try names(["/e/P1/CT_1/S2", "/e/P2/CT_2/S2"], below: ["/e"]) == ["P1_CT_1_S2", "P2_CT_2_S2"])
        #expect(try names(["/e/P1/i", "/e/P2/i", "/f/P3/i"], below: ["/e", "/f"]) == ["P1_i", "P2_i", "P3_i"])
        // Each patient is an input, or each folder or file of one.
        let inputs = ["/e/P1", "/e/P2"]
        #expect(try names(["/e/P1/x/i", "/e/P2/x/i", "/e/P2/y/j"], below: inputs) == ["P1_x_i", "P2_x_i", "j"])
        #expect(try names(["/P1/x/i", "/P2/x/i"], below: ["/P1/x", "/P2/x"]) == ["P1_x_i", "P2_x_i"])
        #expect(try names(["/e/P1/x/i", "/e/P2/x/i"], below: ["/e/P1/x/i", "/e/P2/x/i"]) == ["P1_x_i", "P2_x_i"])
        #expect(try names(["/a/P1/x/i", "/b/P1/x/i"], below: ["/a/P1", "/b/P1"]) == ["a_P1_x_i", "b_P1_x_i"])
    }

    @Test("Names below an input do not depend on the other inputs, unless they are equal")
    func growing() throws {
        let first = [item("/e/first/P1/i"), item("/e/first/P2/i")]
        let second = [item("/e/second/P3/i")]
        #expect(try names(first, below: ["/e/first"]) == ["P1_i", "P2_i"])
        #expect(try names(first + second, below: ["/e/first", "/e/second"]) == ["P1_i", "P2_i", "P3_i"])
    }

    @Test("What discovery appends stays at the end, and volumes of one folder get the same folders in front")
    func suffixes() throws {
        let items = [
            item("/in/a/CT", suffix: "_s1"), item("/in/a/CT", suffix: "_s2"), item("/in/b/CT", suffix: "_s1"),
            item("/in/b/MR", suffix: "@m"), item("/in/b/MR", suffix: "@n"),
        ]
        #expect(try names(items) == ["a_CT_s1", "a_CT_s2", "b_CT_s1", "MR@m", "MR@n"])
    }

    @Test("Folders are shown as the policy says")
    func policy() throws {
        let uid = "1.2.840.113619.2.55.3.604688119"
        let items = [item("/in/DOE/i.nii", words: ["doe"]), item("/in/\(uid)/i.nii")]
        let shown = [ShownNames(.hash, words: ["doe"]).shown("DOE"), ShownNames(.hash).shown(uid)]
        #expect(try names(items) == shown.map { $0 + "_i" })
        #expect(try names(items, .keep) == ["DOE_i", uid + "_i"])
        #expect(try names(items, .none) == ["i", "i"])
    }

    @Test(
        "A pattern makes the name of its parts, as the policy shows them; an item that lacks one keeps its own",
        arguments: [
            ("{1}_{2}", "P-7_CT_1_s2@m"), ("{0}-{name}", "in-CT_1_s2@m"), ("x", nil), ("{1", nil), ("1}", nil),
            ("{-1}", nil),
            ("{9}{1}", "CT_1_s2@m"), ("{patient}/{series}", "P 7/uid_s2@m"), ("{study}", "CT_1_s2@m"),
            ("{subject}", nil),
        ] as [(String, String?)]
    )
    func pattern(text: String, expected: String?) {
        var own = item("/in/P-7/CT_1", suffix: "_s2@m")
        own.headerNames = [.patient: "P 7", .study: "", .series: "uid"]
        var request = DiscoveryRequest(inputs: ["/in/P-7/other", "/in"])
        request.namePattern = NamePattern(text)
        #expect((request.namePattern == nil) == (expected == nil))
        guard expected != nil else { return }
        #expect((InputSearch.named(own, request) ?? own).name == expected)
        own.words = ["p7"]
        let digest = ShownNames(.hash, words: ["p7"]).shown("P-7")
        #expect((InputSearch.named(own, request) ?? own).name == expected?.replacing("P-7", with: digest))
        #expect(ShownNames(.hash).patient("P-7", isRemoved: false) == digest)
        #expect(ShownNames(.hash).patient("P-7", isRemoved: true) == "P-7")
    }

    @Test("Levels begin at the outermost input; what was itself given counts as if its folder were")
    func levels() {
        #expect(NamePattern.levels(of: "/a/b/c/d", below: ["/a/b", "/a"]) == ["a", "b", "c", "d"])
        #expect(NamePattern.levels(of: "/a/b/c", below: ["/a/b/c"]) == ["b", "c"])
        #expect(NamePattern.levels(of: "/a/b", below: ["/"]) == ["", "a", "b"])
        #expect(NamePattern.levels(of: "/a", below: ["/a"]) == ["", "a"])
    }

    @Test("Names that would be too long stay as they are")
    func long() throws {
        let long = String(repeating: "d", count: 180)
        #expect(try names([item("/in/\(long)1/i.nii"), item("/in/\(long)2/i.nii")]) == ["i", "i"])
    }

    // MARK: Given by the planner

    private func given(
        _ items: [DiscoveredItem],
        known: [(DiscoveredItem, name: String)] = []
    ) async throws -> GivenNames { try await GivenNames(items, known: known) }

    @Test("A digest is the last resort, with a note; who keeps the name does not depend on the order")
    func lastResort() async throws {
        let items = [
            item("/in/a.png"), item("/in/a.jpg"), item("/in/b/c.nii"), item("/in/d/c.nii"), item("/in/b_c.nii"),
        ]
        let given = try await self.given(items)
        let (names, notes) = (given.names, given.notes)
        #expect(names[0].hasPrefix("a-") && names[1] == "a")
        // The item whose own name it is keeps it.
        #expect(names[2].hasPrefix("b_c-") && names[3] == "d_c" && names[4] == "b_c")
        #expect(notes.count == 2 && notes.allSatisfy { $0.contains("is that of another item, too") })
        #expect(try await self.given(items.reversed()).names == names.reversed())
    }

    @Test("A name with the digest of its key is recognised, and one that only looks like it is not")
    func digest() {
        let digest = ContentDigest.of("k").hex
        func isDigest(_ name: String) -> Bool { ItemNames.isDigest(name, of: "k") }
        #expect(["b-\(digest.prefix(6))", "a_b-\(digest.prefix(8))", "b-\(digest)"].allSatisfy(isDigest))
        #expect(!["b", "b-\(digest.prefix(5))", "scan-20230101", digest].contains(where: isDigest))
    }

    @Test("Names in the journal stay, and the rest gets the names that it would have had in one run")
    func known() async throws {
        let items = [item("/in/a/i.nii"), item("/in/b/i.nii"), item("/in/b/j.png"), item("/in/b/j.jpg")]
        let whole = try await given(items).names
        #expect(whole[0] == "a_i" && whole[1] == "b_i")
        for count in items.indices {
            let known = (0..<count).map { (items[$0], name: whole[$0]) }
            #expect(try await given(items, known: known).names == whole)
        }
        #expect(
            try await given(items, known: [(items[0], name: "i"), (items[1], name: "i-123456")]).names[0...1] == [
                "i", "i-123456",
            ]
        )
    }

    @Test("An item that is found later gets its folders in front where its name is taken, else a digest")
    func later() async throws {
        let first = item("/in/a/i.nii")
        #expect(try await given([item("/in/b/i.nii")], known: [(first, name: "i")]).names == ["b_i"])
        #expect(try await given([item("/in/b/i.nii")], known: [(first, name: "i")]).notes == [])
        #expect(try await given([first, item("/in/b/i.nii")], known: [(first, name: "i")]).names == ["i", "b_i"])
        let same = [item("/in/a/i.jpg"), item("/in/a/i.png"), first]
        let beside = try await given(same, known: [(first, name: "i")])
        #expect(beside.names[0] == "a_i" && beside.names[1].hasPrefix("a_i-") && beside.names[2] == "i")
        #expect(beside.notes.count == 1)
        // No folder distinguishes what lies in the input itself.
        let top = try await given([item("/in/j.png")], known: [(item("/in/j.jpg"), name: "j")])
        #expect(top.names[0].hasPrefix("j-") && top.notes.count == 1)
    }
}
