import NocturneJournal
import NocturneOutput
import NocturneReport
import NocturneSystem
import Testing

@Suite("The history of several batches")
struct BatchHistoryTests {
    private func item(_ name: String, _ id: Int64, _ changed: String, _ state: ItemState = .completed) -> JournalItem {
        var item = JournalItem(
            id: id,
            key: name,
            name: name,
            path: "/in/\(name).tif.gz",
            fingerprint: "f\(id)",
            state: state
        )
        (item.changed, item.model) = (changed, "skin")
        return item
    }

    private func batch(_ name: String, _ items: [JournalItem], _ values: [Int64: Double]) -> BatchHistory.Batch {
        let statistics = values.mapValues { value in
            [
                Statistic(label: "mel", measure: "probability", value: value, unit: "1"),
                Statistic(label: "nv", measure: "probability", value: 1 - value, unit: "1"),
                Statistic(label: "nv", measure: "elapsed", value: 3, unit: "s"),
            ]
        }
        let contents = BatchContents(
            output: OutputFolder("/out/" + name),
            items: items,
            statistics: statistics,
            models: []
        )
        return (name, contents)
    }

    @Test("Items are in the order of their dates, and each is compared with the one of its subject before")
    func order() throws {
        let subjects = try SubjectTable(
            Array("Image_ID;Patient;Date;x\na.tif.gz;P1;2026-03-01;\nb;P1;20250110;\n\"c\";P2;2025-06-01;\n".utf8)
        )
        let batches = [
            batch(
                "one",
                [item("a", 1, "2026-11-24T10:00:00Z"), item("c", 2, "2026-11-24T09:00:00Z")],
                [1: 0.75, 2: 0.5]
            ),
            batch(
                "two",
                [item("b", 1, "2026-11-24T11:00:00Z"), item("d", 2, "2026-11-24T08:00:00Z", .failed)],
                [1: 0.25]
            ),
        ]
        let history = BatchHistory(batches, subjects: subjects, only: nil)
        #expect(history.entries.map(\.item) == ["b", "c", "a", "d"])
        #expect(history.entries.map(\.subject) == ["P1", "P2", "P1", nil])
        #expect(history.entries.map(\.date) == ["20250110", "2025-06-01", "2026-03-01", "2026-11-24T08:00:00Z"])
        #expect(history.entries.map(\.result) == ["nv 75 %", "mel 50 %", "mel 75 %", ""])
        #expect(history.entries[0].measures.map(\.previous) == [nil, nil])
        #expect(history.entries[2].measures.map(\.previous) == [0.25, 0.75])
        #expect(history.entries[2].measures.map(\.change) == [0.5, -0.5])
        #expect(
            history.courses.map(\.values) == [[0.25, 0.75], [0.75, 0.25]]
                && history.courses.map(\.change) == [0.5, -0.5] && history.courses.allSatisfy { $0.subject == "P1" }
        )
        let lines = history.table.split(separator: "\n")
        #expect(lines.count == 1 + 6 + 1)
        #expect(lines[5].hasPrefix("2026-03-01,P1,one,a,completed,skin,mel,probability,1,0.75,0.25,0.5,"))
        #expect(lines[7].hasPrefix("2026-11-24T08:00:00Z,,two,d,failed,skin,,,,,,,"))
        let only = BatchHistory(batches, subjects: subjects, only: "P2")
        #expect(only.entries.map(\.item) == ["c"] && only.courses.isEmpty)
    }

    @Test("Equal names are told apart by their paths, and equal dates by the times of the results")
    func equalNames() throws {
        func scan(_ path: String, _ changed: String) -> JournalItem {
            var item = JournalItem(id: 1, key: path, name: "anna", path: path, fingerprint: "", state: .completed)
            item.changed = changed
            return item
        }
        let batches = [
            batch("one", [scan("/data/h0/anna.nii.gz", "2026-11-24T12:00:00Z")], [:]),
            batch("two", [scan("/data/h1/anna.nii.gz", "2026-11-24T10:00:00Z")], [:]),
        ]
        func order(_ rows: String) throws -> [String] {
            let table = try SubjectTable(Array("item,subject,date\n\(rows)\n".utf8))
            let items = batches.flatMap(\.contents.items)
            #expect(table.unmatchedText(items) == nil)
            let isShared = !rows.contains("\n")
            #expect((table.ambiguousText(items) != nil) == isShared && table.ambiguousText([items[0]]) == nil)
            var sidecar = items[1]
            sidecar.state = .skipped
            #expect((table.ambiguousText([items[0], sidecar]) != nil) == isShared)
            sidecar.path = "/data/h0/anna.json"
            #expect(table.ambiguousText([items[0], sidecar]) == nil)
            return BatchHistory(batches, subjects: table, only: "S1").entries.map { "\($0.batch) \($0.date ?? "")" }
        }
        let expected = ["two 2024-03-01", "one 2024-05-01"]
        for names in [
            ("h0/anna.nii.gz", "h1/anna.nii.gz"), ("./h0/anna", "./h1/anna"), ("data/h0/anna", "h1/anna"),
            ("/data/h0/anna.nii.gz", "/data/h1/anna"), ("h0/anna", "anna"), ("h0/anna", "anna.nii.gz"),
        ] {
            #expect(try order("\(names.0),S1,2024-05-01\n\(names.1),S1,2024-03-01") == expected, "\(names)")
        }
        #expect(try order("anna,S1,2024-03-01") == ["two 2024-03-01", "one 2024-03-01"])
        #expect(
            try SubjectTable(Array("item,subject\nanna,S1\n".utf8)).ambiguousText(batches.flatMap(\.contents.items))
                == "1 row of the table of subjects means several inputs, such as row 2: \"anna\". "
                + "Write the end of the path: h0/anna.nii.gz, h1/anna.nii.gz."
        )
    }

    @Test(
        "Columns have the names of --metadata",
        arguments: ["img_id,Patient ID", "Bildname;patient", "image-file,Subject"]
    )
    func columns(_ header: String) throws {
        let table = try SubjectTable(Array("\(header)\na.png\(header.contains(";") ? ";" : ",")S1\n".utf8))
        #expect(table.entry(item: "x", path: "/in/a.png")?.subject == "S1")
    }

    @Test("A row names no file whose name goes on after a point")
    func points() throws {
        func subject(_ row: String, of path: String) throws -> String? {
            let table = try SubjectTable(Array("item,subject\n\(row),S1\n".utf8))
            return table.entry(item: "x_y", path: path)?.subject
        }
        #expect(try subject("P1", of: "/in/P1.jpg") == "S1")
        for path in ["/in/P1.2.jpg", "/in/P1.2", "/in/P1.2.nii.gz"] {
            #expect(try subject("P1", of: path) == nil, "\(path)")
            #expect(try subject("in/P1.2", of: path) == "S1" && subject("P1.2", of: path) == "S1", "\(path)")
        }
    }

    @Test("Each lesion is followed by itself, and is found by its own name and that of its patient")
    func lesions() throws {
        let head = "isic_id,lesion_id,patient_id,acquisition_date\n"
        let (first, second) = ("a,L1,P1,2026-01-01\nb,L2,P1,2026-01-01\n", "c,L1,P1,2026-02-01\nd,L2,P1,2026-02-01\n")
        let text = head + first + second + "e,L1,P2,2026-02-01\nf,,P1,2026-02-01\n"
        let subjects = try SubjectTable(Array(text.utf8))
        let names = ["a", "b", "c", "d", "e", "f"]
        let items = names.enumerated().map { item($1, Int64($0), "2026-11-24T10:00:00Z") }
        let values = Dictionary(uniqueKeysWithValues: names.indices.map { (Int64($0), Double($0) / 8) })
        func history(_ only: String?) -> BatchHistory {
            BatchHistory([batch("one", items, values)], subjects: subjects, only: only)
        }
        let courses = history(nil).courses.filter { $0.measure.label == "mel" }
        #expect(courses.map(\.subject) == ["P1/L1", "P1/L2"])
        #expect(courses.map(\.values) == [[0, 0.25], [0.125, 0.375]])
        #expect(history("P1").entries.map(\.item) == ["a", "b", "c", "d", "f"])
        #expect(history("L2").entries.map(\.item) == ["b", "d"])
        #expect(history("P1/L1").entries.map(\.item) == ["a", "c"])
        #expect(subjects.note?.contains("columns patient_id and lesion_id") == true)
        for name in ["P1", "L2", "P2/L1", "L3"] { try subjects.checkSubject(name, path: "/t.csv") }
        let error = #expect(throws: BatchError.self) { try subjects.checkSubject("L1", path: "/t.csv") }
        #expect(error?.detail.hasSuffix("Give patient and lesion, one of: P1/L1, P2/L1") == true)
        let alone = try SubjectTable(Array("image,lesion_id\na,L1\n".utf8))
        // Two columns may have numbers of two systems.
        let numbers = try SubjectTable(Array("item,image,subject,patient_id\na,b,12,\nc,a,,12\n".utf8))
        #expect(["a", "b", "c"].map { numbers.entry(item: $0, path: "/d/\($0).png")?.subject } == ["12", nil, nil])
        #expect(alone.note == nil && alone.entry(item: "a", path: "/a.png")?.subject == "L1")
    }

    @Test("A name that is not one patient or one lesion alone is refused")
    func severalMeanings() throws {
        func refusal(_ name: String, _ rows: String) throws -> String? {
            let table = try SubjectTable(Array("item,patient,lesion\n\(rows)\n".utf8))
            do throws(BatchError) {
                try table.checkSubject(name, path: "/t.csv")
                return nil
            } catch {
                return error.detail
            }
        }
        // Of an unknown patient.
        let unknown = try #require(try refusal("L1", "a,P2,L1\nb,,L1"))
        #expect(unknown.hasSuffix("Write the patient in each row, and give patient and lesion, one of: P2/L1"))
        let only = try #require(try refusal("L1", "a,L1,\nb,,L1"))
        #expect(only.hasSuffix("and give patient and lesion"))
        #expect(try refusal("P2/L1", "a,P2,L1\nb,,L1") == nil && refusal("L1", "a,,L1\nb,,L2") == nil)
        // A patient and one of its own lesions.
        let both = try #require(try refusal("7", "a,7,7\nb,7,8"))
        #expect(both.hasSuffix("Give patient and lesion, one of: 7/7, 7/8"))
        #expect(try refusal("7/7", "a,7,7\nb,7,8") == nil && refusal("7", "a,7,7\nb,8,8") == nil)
    }

    @Test("Measures that do not change are courses too; one value is none")
    func constant() throws {
        let text = "item,subject,date\na,P1,20260301\nb,P1,20260302\nc,P2,20260301\n"
        let subjects = try SubjectTable(Array(text.utf8))
        let items = ["a", "b", "c"].enumerated().map { item($1, Int64($0), "2026-11-24T10:00:00Z") }
        let history = BatchHistory([batch("one", items, [0: 0.5, 1: 0.5, 2: 0.5])], subjects: subjects, only: nil)
        let courses = history.courses
        #expect(courses.map(\.values) == [[0.5, 0.5], [0.5, 0.5]] && courses.map(\.measure.label) == ["mel", "nv"])
        #expect(courses.allSatisfy { $0.isConstant && $0.change == 0 })
    }

    @Test("Items of one subject and day, or without dates of one batch, are listed and not compared")
    func simultaneous() throws {
        func history(_ table: String, _ batches: [BatchHistory.Batch]) throws -> BatchHistory {
            BatchHistory(batches, subjects: try SubjectTable(Array(table.utf8)), only: nil)
        }
        let items = ["a", "b", "c", "d"].enumerated().map { item($1, Int64($0), "2026-11-24T1\($0):00:00Z") }
        let values: [Int64: Double] = [0: 0.5, 1: 0.75, 2: 0.25, 3: 0.875]
        // Two photos of the second day.
        let dates = "item,subject,date\na,P1,2026-03-01\nb,P1,2026-03-02T09:00\nc,P1,20260302\nd,P1,2026-03-03\n"
        let dated = try history(dates, [batch("one", items, values)])
        #expect(dated.entries.map { $0.measures[0].previous } == [nil, nil, nil, 0.5])
        #expect(dated.courses.map(\.values) == [[0.5, 0.875], [0.5, 0.125]] && dated.hasSimultaneousItems)
        let subjects = "item,subject\na,P1\nb,P1\nc,P1\nd,P1\n"
        let undated = try history(subjects, [batch("one", items, values)])
        #expect(undated.entries.count == 4 && undated.courses.isEmpty && undated.hasSimultaneousItems)
        let visits = try history(subjects, [batch("one", [items[0]], values), batch("two", [items[1]], values)])
        #expect(visits.courses.map(\.values) == [[0.5, 0.75], [0.5, 0.25]] && !visits.hasSimultaneousItems)
        // One photo in two batches, of which one has two models.
        var again = items[0]
        again.key = "a|skin"
        let table = "item,subject,date\na,P1,2026-03-01\nd,P1,2026-03-03\n"
        let repeated = try history(table, [batch("one", [items[0]], values), batch("two", [again, items[3]], values)])
        #expect(repeated.courses.map(\.values) == [[0.5, 0.5, 0.875], [0.5, 0.5, 0.125]])
    }

    @Test("What an item's result is called")
    func results() {
        func row(_ label: String, _ measure: String, _ value: Double?) -> Statistic {
            Statistic(label: label, measure: measure, value: value, unit: "")
        }
        #expect(BatchHistory.result([]) == "")
        #expect(BatchHistory.result([row("", "instances", 5), row("book", "instances", 5)]) == "5 objects")
        let liver = row("liver", "volume", 900)
        #expect(BatchHistory.result([liver, row("spleen", "volume", 0)]) == "1 of 2 labels")
        // Regions of interest are no labels.
        #expect(BatchHistory.result([liver, row("roi:liver", "volume", 1)]) == "1 of 1 labels")
        #expect(BatchHistory.result([row("roi:liver", "volume", 1)]) == "")
    }

    @Test(
        "A table of subjects that is not understood is refused with what would be",
        arguments: [
            ("", "is empty"), ("a,b\n1,2\n", "has no column with the items. Call it one of item"),
            ("item,b\n1,2\n", "has no column with subjects or dates. Call it one of subject"),
            ("item,date\nx,1.3.2026\n", "\"1.3.2026\" is not a date. Write year, month and day like 2026-03-01"),
            ("item,date\nx,2026-13-41\n", "\"2026-13-41\" is not a date"),
            ("item,date\nx,2026-31-03\n", "\"2026-31-03\" is not a date"),
            ("item,date\nx,20260229\n", "\"20260229\" is not a date"),
            ("item,subject\nx,S1\ny,S1\nx,S2\n", "\"x\" has another subject or date in row 2"),
            ("item,date\nx,2026-03-01\nx,2026-03-02\n", "\"x\" has another subject or date in row 2"),
        ]
    )
    func refusals(_ text: String, _ reason: String) {
        let fault = #expect(throws: NamedTable.Fault.self) { try SubjectTable(Array(text.utf8)) }
        #expect(fault?.detail.hasPrefix(reason) == true, "\(fault?.detail ?? "")")
    }

    @Test("A table that names none of the items is refused; equal rows, days of leap years and other items are not")
    func matches() throws {
        let table = try SubjectTable(Array("item,subject,date\nx,S1,2028-02-29\nx,S1,2028-02-29\na,S1,\n".utf8))
        let items = [item("a", 1, ""), item("b", 2, "")]
        try table.checkMatches(items, path: "/t.csv")
        try table.checkMatches([], path: "/t.csv")
        let error = #expect(throws: BatchError.self) { try table.checkMatches([items[1]], path: "/t.csv") }
        #expect(error?.code == .inputMissing && error?.path == "/t.csv")
        #expect(
            table.unmatchedText([items[0]])
                == "1 row of the table of subjects names no item of these batches, such as row 2: \"x\"."
        )
        #expect(table.unmatchedText([items[0], item("x", 3, "")]) == nil)
        #expect(table.unmatchedText([])?.hasPrefix("2 rows of the table of subjects name no item") == true)
        #expect(error?.detail.contains("Row 2 names \"x\", the first item is \"b\"") == true, "\(error?.detail ?? "")")
    }
}
