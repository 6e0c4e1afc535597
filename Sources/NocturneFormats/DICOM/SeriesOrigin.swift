import NocturneSystem

/// Divides the objects of one SeriesInstanceUID (or of one folder, where they have none) by what all objects of a series have in
/// common: patient, study, modality, frame of reference and number.
///
/// Tools that remove identities make UIDs equal or take them away, and copies of several studies meet in one folder.
/// Positions cannot separate such objects: the slices of two patients interleave, or follow each other. The division
/// therefore comes before all criteria of geometry, and parts are never put together again.
///
/// Objects that do not state an element are put to those that state it, if these agree, with a note. A study, frame of reference or
/// number that every object has for itself means nothing, and is not used; that has a note too. So has SeriesDate, which divides
/// nothing: some scanners write the date of each image there, and a series may cross midnight.
enum SeriesOrigin {
    typealias Object = SharedValue<DICOMObject>

    /// An element that has one value in all objects of a series.
    struct Element: Sendable {
        let name: String
        /// For the names of parts.
        let label: String
        /// Whether some tools give every object a different value: those that remove identities, and ITK's writer where the
        /// caller sets no StudyInstanceUID.
        var mayBeOfEachObject = false
        /// Whether some scanners write a time of the images there, which a few of them may share.
        var mayBeOfImages = false
        /// Empty where the object does not state it.
        let value: @Sendable (Object) -> String
    }

    /// Objects of one series.
    struct Part {
        var objects: [Object]
        /// Distinguishes it from the other parts whose files are in the same folder; nil where there are none.
        var label: String?
        /// Why the objects were divided; nil where they were not.
        var note: Note?
    }

    private static let numberLabel = "number"

    private static let elements = [
        Element(name: "PatientID (0010,0020)", label: "patient") { $0.wrappedValue.patientDigests.identifier },
        // The same identifier from another hospital is another patient.
        Element(name: "IssuerOfPatientID (0010,0021)", label: "patient") { $0.wrappedValue.patientDigests.issuer },
        Element(name: "PatientName (0010,0010)", label: "patient") { $0.wrappedValue.patientDigests.name },
        Element(name: "PatientBirthDate (0010,0030)", label: "patient") { $0.wrappedValue.patientDigests.birthDate },
        Element(name: "PatientSex (0010,0040)", label: "patient") { $0.wrappedValue.patientDigests.sex },
        Element(name: "StudyInstanceUID (0020,000D)", label: "study", mayBeOfEachObject: true) {
            $0.wrappedValue.studyInstanceUID
        },
        Element(name: "StudyDate (0008,0020)", label: "study") { $0.wrappedValue.studyDate },
        Element(name: "StudyTime (0008,0030)", label: "study", mayBeOfEachObject: true, mayBeOfImages: true) {
            $0.wrappedValue.studyTime
        },
        Element(name: "AccessionNumber (0008,0050)", label: "study", mayBeOfEachObject: true) {
            $0.wrappedValue.patientDigests.accessionNumber
        },
        // Reports and labels may share the UID of the images' series.
        Element(name: "Modality (0008,0060)", label: "modality") {
            ["CT", "MR", "PT"].contains($0.wrappedValue.modality) ? $0.wrappedValue.modality : ""
        },
        Element(name: "FrameOfReferenceUID (0020,0052)", label: "frame", mayBeOfEachObject: true) {
            $0.wrappedValue.frameOfReferenceUID
        },
        Element(name: "SeriesNumber (0020,0011)", label: numberLabel, mayBeOfEachObject: true) {
            $0.wrappedValue.seriesNumber.map(String.init) ?? ""
        },
    ]

    /// - Parameter objects: sorted by path, at least one.
    /// - Returns: parts in the order of their first paths, or of their SeriesNumber where they differ in nothing else; each
    ///   sorted by path.
    static func parts(_ objects: [Object]) -> [Part] {
        let differing = zip(elements, statements(of: objects)).filter { $1.values > 1 }.map(\.0)
        guard !differing.isEmpty else { return [Part(objects: objects)] }
        var groups = split(objects, by: differing.filter { !$0.mayBeOfEachObject }).flatMap { group in
            split(group, by: differing.filter { $0.mayBeOfEachObject && !isOfEachObject($0, group) })
        }.sorted { $0[0].wrappedValue.path < $1[0].wrappedValue.path }
        guard groups.count > 1 else { return [Part(objects: objects)] }
        let dividing = differing.filter { element in
            Set(groups.map { values(of: element, in: $0) }).count > 1
        }
        // It is the last of the elements: no other one divides, and each group has one number, at most one group none.
        let isByNumber = dividing.first?.label == numberLabel
        if isByNumber { groups.sort { number(of: $0) ?? Int.min < number(of: $1) ?? Int.min } }
        let folders = groups.map { $0[0].wrappedValue.folder }
        let countInFolder = Dictionary(folders.map { ($0, 1) }, uniquingKeysWith: +)
        let shared =
            objects[0].wrappedValue.seriesInstanceUID.isEmpty ? "one folder" : "one SeriesInstanceUID (0020,000E)"
        let names = dividing.map(\.name).joined(separator: ", ")
        return groups.enumerated().map { index, group in
            let hasNeighbour = countInFolder[folders[index], default: 0] > 1
            let value = isByNumber ? number(of: group).map(String.init) ?? "missing" : "\(index + 1)"
            return Part(
                objects: group,
                label: hasNeighbour ? "\(dividing.first?.label ?? "part")\(value)" : nil,
                note: Note(
                    "dicom.seriesDivided",
                    "the objects with \(own: shared) are those of \(groups.count) series: \(own: names) "
                        + (dividing.count == 1 ? "differs" : "differ")
                )
            )
        }
    }

    /// SeriesNumber (0020,0011) of the first object that states it.
    private static func number(of objects: [Object]) -> Int? {
        objects.lazy.compactMap { $0.wrappedValue.seriesNumber }.first
    }

    /// What was put together although it does not agree in every element, or comes from several folders.
    static func notes(of slices: [DICOMSlice]) -> [Note] {
        // Each file once: its slices have one header.
        var known: Set<String> = []
        let objects = slices.filter { known.insert($0.path).inserted }.map(\.$object)
        guard objects.count > 1 else { return [] }
        var notes: [Note] = []
        var common: [String] = []
        // Many values were not used to divide; one value with gaps was taken for all; one value everywhere is what the files
        // share.
        for (element, (count, missing)) in zip(elements, statements(of: objects)) {
            if count > 1 {
                let who = count == objects.count ? "every file has a different" : "the files have \(count) values of"
                notes.append(
                    Note(
                        "dicom.elementOfEachFile",
                        "\(own: who) \(own: element.name), which was not used to divide the series"
                    )
                )
            } else if missing == 0 {
                common.append(element.name)
            } else if missing < objects.count, element.label != "modality" {
                notes.append(
                    Note(
                        "dicom.identityMissing",
                        "\(own: element.name) is missing in \(missing) of \(objects.count) files, which were put to the others"
                    )
                )
            }
        }
        // Not by key paths, which copy the whole object for each text.
        let dates = Set(objects.map { $0.wrappedValue.seriesDate }).subtracting([""]).count
        if dates > 1 {
            notes.append(
                Note(
                    "dicom.elementOfEachFile",
                    "the files have \(dates) values of SeriesDate (0008,0021), which was not used to divide the series"
                )
            )
        }
        let folders = Set(objects.map { $0.wrappedValue.folder }).count
        if folders > 1 {
            let others = common.isEmpty ? "" : " and " + common.joined(separator: ", ")
            notes.append(
                Note(
                    "dicom.severalFolders",
                    "files of \(folders) folders have one SeriesInstanceUID (0020,000E)\(own: others): one series"
                )
            )
        }
        return notes
    }

    /// How many values of each element the objects state, and how many of them do not state it.
    private static func statements(of objects: [Object]) -> [(values: Int, missing: Int)] {
        elements.map { element in
            var (last, values, missing): (String, Set<String>, Int) = ("", [], 0)
            for object in objects {
                let value = element.value(object)
                if value.isEmpty {
                    missing += 1
                } else if value != last {
                    // Nearly all objects state what the one before does: they cost a comparison, and no digest of the text.
                    values.insert(value)
                    last = value
                }
            }
            return (values.count, missing)
        }
    }

    /// The stated values.
    private static func values(of element: Element, in objects: [Object]) -> Set<String> {
        var values = Set(objects.lazy.map(element.value))
        values.remove("")
        return values
    }

    /// Whether no two of at least three single planes have the same value; of a time that may be one of the images, whether there
    /// are more values than half of the planes.
    private static func isOfEachObject(_ element: Element, _ objects: [Object]) -> Bool {
        let stated = objects.filter { !element.value($0).isEmpty }
        let count = values(of: element, in: stated).count
        return stated.count > 2 && (count == stated.count || element.mayBeOfImages && 2 * count > stated.count)
            && stated.allSatisfy { $0.wrappedValue.frameGroupCount == 0 && $0.wrappedValue.mosaicTiles == nil }
    }

    // MARK: Division

    /// Objects with the same values; each sorted by path.
    private struct Group {
        let values: [String]
        /// Places among the objects.
        var places: [Int]
        var missing: [Bool] { values.map(\.isEmpty) }
    }

    private static func split(_ objects: [Object], by elements: [Element]) -> [[Object]] {
        guard !elements.isEmpty else { return [objects] }
        var groups: [Group] = []
        var number: [[String]: Int] = [:]
        for (place, object) in objects.enumerated() {
            let values = elements.map { $0.value(object) }
            if let known = number[values] {
                groups[known].places.append(place)
            } else {
                number[values] = groups.count
                groups.append(Group(values: values, places: [place]))
            }
        }
        return joined(groups).map { $0.places.sorted().map { objects[$0] } }
    }

    /// Puts groups that do not state all elements to the only other group with the values that they state.
    ///
    /// The groups with one pattern of missing elements look up their values in one table: the time is proportional to the number of
    /// groups for each of at most 128 patterns.
    private static func joined(_ groups: [Group]) -> [Group] {
        let patterns = Set(groups.map(\.missing)).filter { $0.contains(true) }.sorted { a, b in
            let (first, second) = (a.count { $0 }, b.count { $0 })
            return first != second
                ? first < second : a.map { $0 ? "1" : "0" }.joined() < b.map { $0 ? "1" : "0" }.joined()
        }
        var groups = groups
        for pattern in patterns {
            /// The stated values of a group where this pattern has values; nil for one that does not state them all.
            func stated(_ group: Group) -> [String]? {
                let values = zip(group.values, pattern).filter { !$1 }.map(\.0)
                return values.contains("") ? nil : values
            }
            var candidates: [[String]: [Int]] = [:]
            for (place, group) in groups.enumerated() where !group.places.isEmpty && group.missing != pattern {
                if let values = stated(group) { candidates[values, default: []].append(place) }
            }
            for place in groups.indices where groups[place].missing == pattern {
                guard let values = stated(groups[place]), let found = candidates[values], found.count == 1 else {
                    continue
                }
                groups[found[0]].places += groups[place].places
                groups[place].places = []
            }
        }
        return groups.filter { !$0.places.isEmpty }
    }
}
