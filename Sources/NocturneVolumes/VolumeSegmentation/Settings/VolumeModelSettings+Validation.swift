import NocturneInference
import NocturneNumerics

extension ModelValidation {
    /// Validates the section `volumeProgram`, and the packages that it names.
    func volumeProgram(
        _ raw: VolumeProgramSection,
        of package: ModelPackage
    ) throws(ModelPackageError) -> VolumeModelSettings {
        let section = VolumeModelSettings.section
        let region = try raw.region.map { (raw) throws(ModelPackageError) in
            try self.region(raw, of: package, key: "\(section).region")
        }
        try checkLength(raw.parts.count, key: "\(section).parts")
        guard !raw.parts.isEmpty else {
            throw refuse("\(section).parts", expected: "at least one part", found: "none")
        }
        var parts: [ProgramPartSettings] = []
        for (index, part) in raw.parts.enumerated() {
            parts.append(try self.part(part, of: package, key: "\(section).parts[\(index)]"))
        }
        // A label that no part gives would be reported as not found in every result.
        let made = Set(parts.flatMap(\.labels.values))
        if let label = package.labels.first(where: { !made.contains($0.value) }) {
            throw refuse("labels", expected: "labels that a part gives", found: label.name)
        }
        // Without a window for pictures, that of the first part is taken: the parts see the same image.
        let settings = VolumeModelSettings(
            grid: try raw.grid.map { (raw) throws(ModelPackageError) in try grid(raw, key: "\(section).grid") },
            region: region,
            parts: parts,
            postprocessing: try postprocessing(
                raw.postprocessing,
                labels: package.labels,
                key: "\(section).postprocessing"
            ),
            window: try window(raw.window, key: "\(section).window") ?? parts[0].members[0].settings.window
        )
        // All parts read the same files, so they have to take the same kind of them.
        if let other = settings.members.first(where: { $0.settings.inputFormat != settings.inputFormat }) {
            throw refuse(
                "\(section).parts",
                expected: "packages of one inputFormat, here \(settings.inputFormat.rawValue)",
                found: "\(other.settings.inputFormat.rawValue) in \(other.path)"
            )
        }
        return settings
    }

    private func grid(_ raw: VolumeProgramSection.Grid, key: String) throws(ModelPackageError) -> ProgramGridSettings {
        if let orientation = raw.orientation, orientation != CascadeLevel.Orientation.ras.rawValue {
            throw refuse("\(key).orientation", expected: CascadeLevel.Orientation.ras.rawValue, found: orientation)
        }
        if let spacing = raw.spacing, spacing.count != 3 || !spacing.allSatisfy({ $0.isFinite && $0 > 0 && $0 <= 1000 })
        {
            throw refuse("\(key).spacing", expected: "three numbers above 0 and at most 1000", found: spacing)
        }
        if let size = raw.size?.map(\.value) {
            guard size.count == 3, size.allSatisfy({ (1...1024).contains($0) }) else {
                throw refuse("\(key).size", expected: "three numbers in 1...1024", found: size)
            }
            // Both would determine the grid, and could contradict each other.
            guard raw.spacing == nil else {
                throw refuse("\(key).size", expected: "size or spacing", found: "both")
            }
        }
        let methodText = raw.resampling?.method ?? ResamplingRule.Method.spline.rawValue
        guard let method = ResamplingRule.Method(rawValue: methodText), [.spline, .zoom].contains(method) else {
            throw refuse("\(key).resampling.method", expected: "spline or zoom", found: methodText)
        }
        let number = raw.resampling?.order?.value ?? 1
        guard let order = ResamplingRule.Order(rawValue: number), order != .cubic || method == .spline else {
            throw refuse("\(key).resampling.order", expected: "0, 1, or 3 with spline", found: number)
        }
        let truncates = raw.resampling?.truncates ?? false
        guard !truncates || order != .cubic else {
            throw refuse("\(key).resampling.truncates", expected: "truncation with orders 0 and 1", found: number)
        }
        return ProgramGridSettings(
            spacing: raw.spacing,
            size: raw.size?.map(\.value),
            resampling: ResamplingRule(method: method, order: order, separateZ: .never),
            truncates: truncates
        )
    }

    private func region(
        _ raw: VolumeProgramSection.Region,
        of package: ModelPackage,
        key: String
    ) throws(ModelPackageError) -> ProgramRegionSettings {
        // By default all labels of the package make the region.
        let member = try self.member(raw.package, of: package, key: "\(key).package")
        var labels = member.package.labels
        if let names = raw.labels {
            let chosen = try values(names, labels: labels, key: "\(key).labels")
            labels = labels.filter { chosen.contains($0.value) }
        }
        guard !labels.isEmpty else { throw refuse("\(key).labels", expected: "at least one label", found: "none") }
        let settings = ProgramRegionSettings(
            member: member,
            grid: try raw.grid.map { (raw) throws(ModelPackageError) in try grid(raw, key: "\(key).grid") },
            labels: labels.map(\.value),
            margin: try margin((raw.marginMm, raw.marginVoxels?.value, raw.marginShare), key: key),
            planeShare: raw.planeShare,
            clip: try raw.clip.map { (raw) throws(ModelPackageError) in try clip(raw, key: "\(key).clip") },
            grows: raw.grows ?? true,
            truncates: raw.truncates ?? false
        )
        // Such a box is enlarged by marginShare alone: other margins would be ignored.
        if let share = raw.planeShare {
            guard share >= 0, share < 1 else {
                throw refuse("\(key).planeShare", expected: "a number from 0 to below 1", found: share)
            }
            guard settings.grid != nil, settings.margin.millimetres == 0, settings.margin.voxels == 0, !settings.grows
            else {
                throw refuse(
                    "\(key).planeShare",
                    expected: "a grid, no margin but marginShare, and grows false",
                    found: "something else"
                )
            }
        }
        return settings
    }

    private func clip(
        _ raw: VolumeProgramSection.Clip,
        key: String
    ) throws(ModelPackageError) -> ClosedRange<Double> {
        guard raw.lower >= 0, raw.lower < raw.upper, raw.upper <= 1 else {
            throw refuse(key, expected: "0 <= lower < upper <= 1", found: "\(raw.lower) and \(raw.upper)")
        }
        return raw.lower...raw.upper
    }

    private func part(
        _ raw: VolumeProgramSection.Part,
        of package: ModelPackage,
        key: String
    ) throws(ModelPackageError) -> ProgramPartSettings {
        try checkLength(raw.packages.count, key: "\(key).packages")
        guard !raw.packages.isEmpty else {
            throw refuse("\(key).packages", expected: "at least one folder", found: "none")
        }
        var members: [ProgramMember] = []
        for (index, folder) in raw.packages.enumerated() {
            let place = "\(key).packages[\(index)]"
            if raw.packages[..<index].contains(folder) {
                throw refuse(place, expected: "every folder once", found: "\(folder) twice")
            }
            let member = try self.member(folder, of: package, key: place)
            if let first = members.first { try check(member, isLike: first, key: place) }
            members.append(member)
        }
        return ProgramPartSettings(
            members: members,
            labels: try labels(raw.labels, members[0], package, key: "\(key).labels")
        )
    }

    /// Members of an ensemble give probabilities of the same classes on the same grid.
    private func check(_ member: ProgramMember, isLike first: ProgramMember, key: String) throws(ModelPackageError) {
        let labels = member.package.labels.map { "\($0.value) \($0.name)" }
        let expected = first.package.labels.map { "\($0.value) \($0.name)" }
        // Probabilities are averaged by the number of the class, whatever its name.
        guard labels == expected, member.settings.output == first.settings.output else {
            throw refuse(key, expected: "the labels of \(first.path)", found: labels.joined(separator: ", "))
        }
        func axes(_ member: ProgramMember) -> String {
            let level = member.settings.levels[member.settings.levels.count - 1]
            let crop =
                level.crop.map { "to voxels \($0.above.map { "above \($0)" } ?? "that are not 0"), \($0.margin.text)" }
            return "orientation \(level.orientation.rawValue), transpose \(level.transpose), cropping \(crop ?? "none")"
        }
        guard axes(member) == axes(first) else {
            throw refuse(key, expected: "the axes of \(first.path): \(axes(first))", found: axes(member))
        }
        // An ensemble averages the probabilities of resampled logits.
        for one in [first, member] where one.settings.levels.contains(where: \.resamplesProbabilities) {
            throw refuse(key, expected: "packages whose logits are resampled", found: "probabilities in \(one.path)")
        }
    }

    /// The labels of a part by the values that `model.json` gives, or by their names.
    private func labels(
        _ raw: [String: WholeNumber]?,
        _ member: ProgramMember,
        _ package: ModelPackage,
        key: String
    ) throws(ModelPackageError) -> [UInt16: UInt16] {
        guard let raw else { return try names(member, package, key: key) }
        var labels: [UInt16: UInt16] = [:]
        // Dictionaries are unordered; the error must be the same every time.
        for text in raw.keys.sorted() {
            guard let value = UInt16(text), member.package.label(withValue: value) != nil else {
                throw refuse(key, expected: "values of the labels of \(member.path)", found: text)
            }
            let target = raw[text]?.value ?? 0
            guard let own = UInt16(exactly: target), package.label(withValue: own) != nil else {
                throw refuse("\(key).\(text)", expected: "the value of a label", found: target)
            }
            labels[value] = own
        }
        guard !labels.isEmpty else { throw refuse(key, expected: "at least one label", found: "none") }
        return labels
    }

    /// The labels of a part that have the names of the program's.
    private func names(
        _ member: ProgramMember,
        _ package: ModelPackage,
        key: String
    ) throws(ModelPackageError) -> [UInt16: UInt16] {
        var labels: [UInt16: UInt16] = [:]
        // Labels of the part that the program does not have are left out: it may use only some of a network's labels.
        for label in member.package.labels {
            labels[label.value] = package.label(named: label.name)?.value
        }
        guard !labels.isEmpty else {
            throw refuse(
                key,
                expected: "a label of \(member.path) with the name of one of the program's",
                found: "none"
            )
        }
        return labels
    }

    /// The package in a folder of the program. Its files are among the program's, whose digests are verified.
    private func member(
        _ folder: String,
        of package: ModelPackage,
        key: String
    ) throws(ModelPackageError) -> ProgramMember {
        // Files that are not listed have no digest, so nobody would notice that they were exchanged.
        let listed = Set(package.files.map(\.path))
        let document = folder + "/" + ModelPackage.documentName
        guard listed.contains(document) else {
            throw refuse(key, expected: "a folder whose \(ModelPackage.documentName) is listed in files", found: folder)
        }
        let member = try ModelPackage.load(folder: package.path(of: folder), verifyDigests: false)
        guard member.task == VolumeSegmentation.task else {
            throw refuse(key, expected: "a package for \(VolumeSegmentation.task)", found: member.task)
        }
        if let file = member.files.first(where: { !listed.contains(folder + "/" + $0.path) }) {
            throw refuse(key, expected: "\(folder)/\(file.path) among files", found: "nothing")
        }
        // A program gives every part all of its channels.
        guard member.channels.count == package.channels.count else {
            throw refuse(
                key,
                expected: "a package with \(package.channels.count) channels",
                found: member.channels.count
            )
        }
        return ProgramMember(path: folder, package: member, settings: try VolumeSegmentationSettings(member))
    }
}
