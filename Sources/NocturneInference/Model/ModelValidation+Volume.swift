extension ModelValidation {
    /// The section `volumeSegmentation`.
    func volumeSegmentation(
        files: [ModelFile],
        labels: [ModelLabel]
    ) throws(ModelPackageError) -> VolumeSegmentationSettings {
        let section = "volumeSegmentation"
        guard let raw = document.volumeSegmentation else {
            throw refuse(.missingKey, section, expected: "a section for this task", found: "nothing")
        }
        let orientationText = raw.orientation ?? VolumeSegmentationSettings.Orientation.stored.rawValue
        guard let orientation = VolumeSegmentationSettings.Orientation(rawValue: orientationText) else {
            throw refuse("\(section).orientation", expected: "RAS or stored", found: orientationText)
        }
        if let spacing = raw.spacing {
            guard spacing.count == 3, spacing.allSatisfy({ $0.isFinite && $0 > 0 && $0 <= 1000 }) else {
                throw refuse(
                    "\(section).spacing",
                    expected: "three numbers above 0 and up to 1000, or null",
                    found: spacing
                )
            }
        }
        let patchSize = raw.patchSize.map(\.value)
        guard patchSize.count == 3, patchSize.allSatisfy({ (1...1024).contains($0) }) else {
            throw refuse("\(section).patchSize", expected: "three numbers in 1...1024", found: patchSize)
        }
        let step = raw.tileStep ?? 0.5
        guard step.isFinite, step > 0, step <= 1 else {
            throw refuse("\(section).tileStep", expected: "a number above 0 and at most 1", found: step)
        }
        let axes = (raw.mirroringAxes ?? []).map(\.value)
        guard Set(axes).count == axes.count, axes.allSatisfy({ (0...2).contains($0) }) else {
            throw refuse("\(section).mirroringAxes", expected: "some of 0, 1, 2, each once", found: axes)
        }
        return VolumeSegmentationSettings(
            orientation: orientation,
            spacing: raw.spacing,
            patchSize: patchSize,
            tileStep: step,
            mirroringAxes: axes.sorted(),
            cropToNonzero: raw.cropToNonzero ?? false,
            // nnU-Net's defaults.
            imageOrder: try order(raw.resampling?.imageOrder?.value ?? 3, key: "\(section).resampling.imageOrder"),
            logitsOrder: try order(raw.resampling?.logitsOrder?.value ?? 1, key: "\(section).resampling.logitsOrder"),
            networks: try networks(raw.networks, files: files, key: "\(section).networks"),
            postprocessing: try postprocessing(
                raw.postprocessing,
                labels: labels,
                key: "\(section).postprocessing"
            )
        )
    }

    private func order(_ order: Int, key: String) throws(ModelPackageError) -> Int {
        guard [0, 1, 3].contains(order) else { throw refuse(key, expected: "0, 1 or 3", found: order) }
        return order
    }

    private func networks(
        _ networks: [String],
        files: [ModelFile],
        key: String
    ) throws(ModelPackageError) -> [String] {
        if networks.isEmpty { throw refuse(key, expected: "at least one file", found: "none") }
        for (index, network) in networks.enumerated() {
            guard files.contains(where: { $0.path == network }) else {
                throw refuse(.unknownName, "\(key)[\(index)]", expected: "a path listed in files", found: network)
            }
            if networks[..<index].contains(network) {
                throw refuse(.duplicate, "\(key)[\(index)]", expected: "every network once", found: "\(network) twice")
            }
        }
        return networks
    }

    private func postprocessing(
        _ raw: ModelDocument.Postprocessing?,
        labels: [ModelLabel],
        key: String
    ) throws(ModelPackageError) -> PostprocessingSettings {
        let volumes = raw?.minimumVolumeMm3 ?? [:]
        let keepLargest = raw?.keepLargest ?? []
        let fillHoles = raw?.fillHoles ?? []
        // Dictionaries have no order, and the error should be the same every time.
        let named = [
            ("keepLargest", keepLargest), ("fillHoles", fillHoles), ("minimumVolumeMm3", volumes.keys.sorted()),
        ]
        for (part, names) in named {
            for (index, name) in names.enumerated() {
                guard labels.contains(where: { $0.name == name }) else {
                    let known = labels.prefix(20).map(\.name).joined(separator: ", ")
                    throw refuse(
                        .unknownName,
                        "\(key).\(part)",
                        expected: "one of the labels (\(known))",
                        found: "\"\(name)\""
                    )
                }
                if names[..<index].contains(name) {
                    throw refuse(.duplicate, "\(key).\(part)", expected: "every label once", found: "\(name) twice")
                }
            }
        }
        for name in volumes.keys.sorted() {
            guard let volume = volumes[name], volume.isFinite, volume >= 0 else {
                throw refuse(
                    "\(key).minimumVolumeMm3.\(name)",
                    expected: "a number from 0 on",
                    found: volumes[name] ?? 0
                )
            }
        }
        let connectivity = raw?.connectivity?.value ?? 26
        guard [6, 18, 26].contains(connectivity) else {
            throw refuse("\(key).connectivity", expected: "6, 18 or 26", found: connectivity)
        }
        return PostprocessingSettings(
            keepLargest: keepLargest,
            fillHoles: fillHoles,
            minimumVolumeMm3: volumes,
            connectivity: connectivity
        )
    }
}
