import NocturneInference
import NocturneNumerics
import NocturnePictures
import NocturnePostprocess
import NocturneSystem

extension VolumeModelSettings {
    /// Reads the section `volumeProgram`.
    /// - Parameter members: the packages in folders of the program, by the folder.
    init(
        _ section: JSONFields,
        of package: ModelPackage,
        members: ProgramMembers
    ) throws(JSONFields.Fault) {
        try section.only(["grid", "region", "parts", "postprocessing", "window"])
        let region =
            section.has("region") ? try ProgramRegionSettings(section.object("region"), package, members) : nil
        var parts: [ProgramPartSettings] = []
        for part in try section.objects("parts", atMost: JSONFields.maximumListCount) {
            parts.append(try ProgramPartSettings(part, package, members))
        }
        if parts.isEmpty { throw section.fault("parts", "is an empty list") }
        // Without a window for pictures, that of the first part is taken: the parts see the same image.
        let window =
            section.has("window")
            ? try PictureWindow(section.object("window")) : parts[0].members[0].settings.window
        self.init(
            grid: section.has("grid") ? try ProgramGridSettings(section.object("grid")) : nil,
            region: region,
            parts: parts,
            postprocessing: try PostprocessRules(section.objectOrEmpty("postprocessing"), labels: package.labels),
            window: window
        )
        // All parts read the same files, so they have to take the same kind of them.
        if let other = self.members.first(where: { $0.settings.inputFormat != inputFormat }) {
            let formats = "\(other.settings.inputFormat.rawValue), not \(inputFormat.rawValue)"
            throw section.fault("parts", "has \(other.path), whose inputFormat is \(formats) as that of the first part")
        }
    }
}

extension ProgramGridSettings {
    fileprivate init(_ fields: JSONFields) throws(JSONFields.Fault) {
        try fields.only(["orientation", "spacing", "size", "resampling"])
        _ = try fields.choice("orientation", CascadeLevel.Orientation.ras, among: [.ras])
        let spacing = fields.has("spacing") ? try fields.numbers("spacing") : nil
        if let spacing, spacing.count != 3 || !spacing.allSatisfy({ $0 > 0 && $0 <= 1000 }) {
            throw fields.fault("spacing", is: spacing, not: "three numbers above 0 and at most 1000")
        }
        let size = fields.has("size") ? try fields.wholes("size") : nil
        if let size {
            guard size.count == 3, size.allSatisfy({ (1...1024).contains($0) }) else {
                throw fields.fault("size", is: size, not: "three numbers in 1...1024")
            }
            // Both would determine the grid, and could contradict each other.
            if spacing != nil { throw fields.fault("size", "is given, and so is spacing") }
        }
        let resampling = try fields.objectOrEmpty("resampling")
        try resampling.only(["method", "order", "truncates"])
        let method = try resampling.choice("method", ResamplingRule.Method.spline, among: [.spline, .zoom])
        let order = try resampling.order("order", .linear)
        guard order != .cubic || method == .spline else {
            throw resampling.fault("order", is: 3, not: "0 or 1, as \(method.rawValue) requires")
        }
        let truncates = try resampling.boolean("truncates", false)
        guard !truncates || order != .cubic else {
            throw resampling.fault("truncates", "is true, which only orders 0 and 1 may have")
        }
        self.init(
            spacing: spacing,
            size: size,
            resampling: ResamplingRule(method: method, order: order, separateZ: .never),
            truncates: truncates
        )
    }
}

extension ProgramRegionSettings {
    fileprivate init(
        _ fields: JSONFields,
        _ package: ModelPackage,
        _ members: ProgramMembers
    ) throws(JSONFields.Fault) {
        try fields.only([
            "package", "grid", "labels", "marginMm", "marginVoxels", "marginShare", "planeShare", "clip", "grows",
            "truncates",
        ])
        // By default all labels of the package make the region.
        let member = try fields.member(fields.string("package"), "package", package, members)
        var labels = member.package.labels
        if fields.has("labels") {
            let chosen = try fields.values(of: fields.strings("labels"), among: labels, "labels")
            labels = labels.filter { chosen.contains($0.value) }
        }
        guard !labels.isEmpty else { throw fields.fault("labels", "is an empty list") }
        let planeShare = fields.has("planeShare") ? try fields.number("planeShare", in: 0...1) : nil
        self.init(
            member: member,
            grid: fields.has("grid") ? try ProgramGridSettings(fields.object("grid")) : nil,
            labels: labels.map(\.value),
            margin: try fields.margin(),
            planeShare: planeShare,
            clip: fields.has("clip") ? try fields.object("clip").quantiles() : nil,
            grows: try fields.boolean("grows", true),
            truncates: try fields.boolean("truncates", false)
        )
        // Such a box is enlarged by marginShare alone: other margins would be ignored.
        guard let planeShare else { return }
        guard planeShare < 1 else { throw fields.fault("planeShare", is: planeShare, not: "below 1") }
        guard grid != nil, margin.millimetres == 0, margin.voxels == 0, !grows else {
            throw fields.fault("planeShare", "needs a grid, no margin but marginShare, and grows false")
        }
    }
}

extension JSONFields {
    /// The keys `lower` and `upper` of a clip.
    fileprivate func quantiles() throws(Fault) -> ClosedRange<Double> {
        try only(["lower", "upper"])
        let (lower, upper) = (try number("lower", in: 0...1), try number("upper", in: 0...1))
        guard lower < upper else { throw fault("upper", is: upper, not: "above lower, \(lower)") }
        return lower...upper
    }

    /// The package in a folder of the program. Its files are among the program's, whose digests are verified.
    fileprivate func member(
        _ folder: String,
        _ key: String,
        _ package: ModelPackage,
        _ members: ProgramMembers
    ) throws(Fault) -> ProgramMember {
        // Files that are not listed have no digest, so nobody would notice that they were exchanged.
        guard let member = members.packages[folder] else {
            throw fault(key, is: folder, not: "a folder whose \(ModelPackage.documentName) is listed in files")
        }
        guard let settings = members.settings[folder] else {
            throw fault(key, "has the task \(member.task.prefix(80)), not \(VolumeSegmentation.task)")
        }
        let listed = Set(package.files.map(\.path))
        if let file = member.files.first(where: { !listed.contains(folder + "/" + $0.path) }) {
            throw fault(key, "has \(folder)/\(file.path), which is not listed in files")
        }
        // A program gives every part all of its channels.
        guard member.channels.count == package.channels.count else {
            throw fault(key, "has \(member.channels.count) channels, not \(package.channels.count)")
        }
        return ProgramMember(path: folder, package: member, settings: settings)
    }
}

extension ProgramPartSettings {
    fileprivate init(
        _ fields: JSONFields,
        _ package: ModelPackage,
        _ packages: ProgramMembers
    ) throws(JSONFields.Fault) {
        try fields.only(["packages", "labels"])
        let folders = try fields.strings("packages", atMost: JSONFields.maximumListCount)
        if folders.isEmpty { throw fields.fault("packages", "is an empty list") }
        var members: [ProgramMember] = []
        for (index, folder) in folders.enumerated() {
            let key = "packages[\(index)]"
            if folders[..<index].contains(folder) {
                throw fields.fault(key, "is \"\(folder)\", which another entry is too")
            }
            let member = try fields.member(folder, key, package, packages)
            if let first = members.first, let difference = Self.difference(of: member, from: first) {
                throw fields.fault(key, difference)
            }
            members.append(member)
        }
        let labels =
            fields.has("labels")
            ? try Self.labels(fields.object("labels"), fields, members[0], package)
            : try Self.labels(fields, members[0], package)
        self.init(members: members, labels: labels)
    }

    /// Why a member cannot be in an ensemble with another one: its members give probabilities of the same classes on the same grid.
    private static func difference(of member: ProgramMember, from first: ProgramMember) -> String? {
        func labels(_ member: ProgramMember) -> String {
            member.package.labels.map { "\($0.value) \($0.name)" }.joined(separator: ", ")
        }
        // Probabilities are averaged by the number of the class, whatever its name.
        guard labels(member) == labels(first), member.settings.output == first.settings.output else {
            return "has the labels \(labels(member)), not those of \(first.path)"
        }
        func axes(_ member: ProgramMember) -> String {
            let level = member.settings.levels[member.settings.levels.count - 1]
            let crop =
                level.crop.map { "to voxels \($0.above.map { "above \($0)" } ?? "that are not 0"), \($0.margin.text)" }
            return "orientation \(level.orientation.rawValue), transpose \(level.transpose), cropping \(crop ?? "none")"
        }
        guard axes(member) == axes(first) else {
            return "has \(axes(member)), not the axes of \(first.path): \(axes(first))"
        }
        // An ensemble averages the probabilities of resampled logits.
        let other = [first, member].first { $0.settings.levels.contains(where: \.resamplesProbabilities) }
        return other.map { "is in an ensemble with \($0.path), whose probabilities are resampled, not its logits" }
    }

    /// The labels of a part by the values that `model.json` gives.
    private static func labels(
        _ values: JSONFields,
        _ part: JSONFields,
        _ member: ProgramMember,
        _ package: ModelPackage
    ) throws(JSONFields.Fault) -> [UInt16: UInt16] {
        var labels: [UInt16: UInt16] = [:]
        for text in values.keys {
            guard let value = UInt16(text), String(value) == text, member.package.label(withValue: value) != nil else {
                throw part.fault(
                    "labels",
                    "has \"\(text.prefix(80))\", which is not the value of a label of \(member.path)"
                )
            }
            let own = UInt16(try values.whole(text, in: 0...65_535))
            guard package.label(withValue: own) != nil else {
                throw values.fault(text, is: own, not: "the value of a label")
            }
            labels[value] = own
        }
        guard !labels.isEmpty else { throw part.fault("labels", "has no label") }
        return labels
    }

    /// The labels of a part that have the names of the program's.
    private static func labels(
        _ part: JSONFields,
        _ member: ProgramMember,
        _ package: ModelPackage
    ) throws(JSONFields.Fault) -> [UInt16: UInt16] {
        var labels: [UInt16: UInt16] = [:]
        // Labels of the part that the program does not have are left out: it may use only some of a network's labels.
        for label in member.package.labels { labels[label.value] = package.label(named: label.name)?.value }
        guard !labels.isEmpty else {
            throw part.fault(
                "labels",
                "is not given, and no label of \(member.path) has the name of one of the program's"
            )
        }
        return labels
    }
}
