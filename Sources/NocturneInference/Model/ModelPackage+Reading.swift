package import NocturneCore
package import NocturneSystem

/// The members of `model.json` that all tasks have in common.
extension JSONFields {
    /// The most entries of a list, but for labels and classes: many lists are searched once for every entry.
    package static let maximumListCount = 1000

    /// The largest file of a package: an ONNX file is a message of Protocol Buffers, which has less than 2 GiB.
    private static let maximumFileBytes = 1 << 31

    /// A text that is not empty, without line breaks and other control characters: it is shown in tables and terminals.
    func nonEmptyString(_ key: String) throws(Fault) -> String {
        let text = try string(key)
        if text.isEmpty { throw fault(key, "is an empty text") }
        guard text.isOneLine else { throw fault(key, is: text, not: "one line of text") }
        return text
    }

    /// A text that is a valid file name on every system: results and their files are named after it.
    package func safeName(_ key: String) throws(Fault) -> String {
        let name = try string(key)
        let bytes = name.utf8
        let isSafe = bytes.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: "-"):
                true
            default: false
            }
        }
        guard isSafe, (1...100).contains(bytes.count), bytes.first != UInt8(ascii: ".") else {
            throw fault(key, is: name, not: "1 to 100 of the characters A-Z a-z 0-9 _ . - without a leading dot")
        }
        return name
    }

    /// The member `name` of a label or class, which no other one has.
    /// - Parameters:
    ///   - names: those before; this one is added.
    ///   - ignoresCase: Whether names that differ by their case are the same: files are named after labels, and may be copied to
    ///     file systems that ignore case.
    package func uniqueName(_ names: inout Set<String>, ignoresCase: Bool = true) throws(Fault) -> String {
        let name = try safeName("name")
        guard names.insert(ignoresCase ? name.lowercased() : name).inserted else {
            throw fault("name", "is \"\(name)\", which another entry has too")
        }
        return name
    }

    /// The member `color`.
    package func color() throws(Fault) -> LabelColor {
        let text = try string("color")
        guard let color = LabelColor(text) else { throw fault("color", is: text, not: "#rrggbb") }
        return color
    }

    /// A file that the package lists.
    package func file(_ key: String, of package: ModelPackage) throws(Fault) -> String {
        let path = try string(key)
        guard package.files.contains(where: { $0.path == path }) else {
            throw fault(key, is: path, not: "a path listed in files")
        }
        return path
    }

    /// The files of a package: at least one, each once, all inside the folder.
    func files() throws(Fault) -> [ModelFile] {
        let entries = try objects("files", atMost: Self.maximumListCount)
        if entries.isEmpty { throw fault("files", "is an empty list") }
        var files: [ModelFile] = []
        var seen: Set<String> = []
        for entry in entries {
            try entry.only(["path", "sha256", "bytes"])
            let path = try entry.string("path")
            guard path.utf8.count <= 1024, !path.utf8.contains(UInt8(ascii: "\\")), FileSystem.staysBelow(path) else {
                throw entry.fault("path", is: path, not: "a relative path inside the package folder")
            }
            guard seen.insert(path).inserted else {
                throw entry.fault("path", "is \"\(path)\", which another entry has too")
            }
            let hex = try entry.string("sha256")
            guard let sha256 = ContentDigest(hex: hex) else {
                throw entry.fault("sha256", is: hex, not: "64 hexadecimal digits")
            }
            let bytes = try entry.whole("bytes", in: 1...Self.maximumFileBytes)
            files.append(ModelFile(path: path, sha256: sha256, bytes: bytes))
        }
        return files
    }

    /// The codes of DICOM's modality (0008,0060) that a model takes; none where the document has none.
    func modalities() throws(Fault) -> [String] {
        guard has("modalities") else { return [] }
        let modalities = try strings("modalities")
        guard try string("task").hasPrefix("volume-") else { return modalities }
        // Those of the series that can be read. With any other code, no DICOM series would be an input.
        for (index, modality) in modalities.enumerated() where !["CT", "MR", "PT"].contains(modality) {
            throw fault("modalities[\(index)]", is: modality, not: "CT, MR or PT, a modality of DICOM")
        }
        return modalities
    }

    /// The input channels; none where the document has none.
    func channels() throws(Fault) -> [ModelChannel] {
        guard has("channels") else { return [] }
        var channels: [ModelChannel] = []
        for entry in try objects("channels", atMost: Self.maximumListCount) {
            try entry.only(["name", "normalization"])
            let name = try entry.nonEmptyString("name")
            if channels.contains(where: { $0.name == name }) {
                throw entry.fault("name", "is \"\(name)\", which another entry has too")
            }
            let normalizations = try entry.normalizations(entry.value("normalization"), "normalization")
            channels.append(ModelChannel(name: name, normalizations: normalizations))
        }
        return channels
    }

    /// The labels, in the order of the document: values from 1 to 65535, values and names unique. None where the document has none.
    func labels() throws(Fault) -> [ModelLabel] {
        guard has("labels") else { return [] }
        var labels: [ModelLabel] = []
        var values: Set<UInt16> = []
        var names: Set<String> = []
        for entry in try objects("labels") {
            try entry.only(["value", "name", "color", "title", "code", "expected"])
            let value = UInt16(try entry.whole("value", in: 1...65_535))
            guard values.insert(value).inserted else {
                throw entry.fault("value", "is \(value), which another entry has too")
            }
            labels.append(
                ModelLabel(
                    value: value,
                    name: try entry.uniqueName(&names),
                    title: try entry.title(),
                    color: try entry.color(),
                    code: entry.has("code") ? try entry.object("code").concept() : nil,
                    isExpected: try entry.boolean("expected", false)
                )
            )
        }
        return labels
    }

    private func title() throws(Fault) -> String? {
        guard has("title") else { return nil }
        let title = try string("title")
        guard title.isOneLine, (1...1000).contains(title.utf8.count) else {
            throw fault("title", is: title, not: "one line of 1 to 1000 bytes")
        }
        return title
    }

    private func concept() throws(Fault) -> CodedConcept {
        try only(["scheme", "value", "meaning"])
        return CodedConcept(
            scheme: try string("scheme"),
            value: try string("value"),
            meaning: try string("meaning")
        )
    }

    /// What the package was made of.
    func source() throws(Fault) -> ModelSource? {
        guard has("source") else { return nil }
        let fields = try object("source")
        try fields.only(["name", "version", "file", "sha256"])
        return ModelSource(
            name: fields.has("name") ? try fields.string("name") : nil,
            version: fields.has("version") ? try fields.string("version") : nil,
            file: try fields.string("file"),
            sha256: try fields.string("sha256")
        )
    }
}

extension String {
    /// Whether the text has no control character (C0, DEL, C1) and none that changes the direction of the text.
    fileprivate var isOneLine: Bool {
        unicodeScalars.allSatisfy { $0.properties.generalCategory != .control && !$0.properties.isBidiControl }
    }
}
