// SPDX-License-Identifier: Apache-2.0

// render_chart renders the templates of deploy/helm/atoll as Helm does: Go's own text/template with
// those functions of Helm that the chart uses, and no others. tools/check_manifests.py runs it.
//
//	go run tools/render_chart.go CHART NAME NAMESPACE <VALUES.json
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

func indent(spaces int, text string) string {
	pad := strings.Repeat(" ", spaces)
	return pad + strings.ReplaceAll(text, "\n", "\n"+pad)
}

func toJSON(value interface{}) (string, error) {
	text, err := json.Marshal(value)
	return string(text), err
}

func add(numbers ...interface{}) (int64, error) {
	sum := int64(0)
	for _, number := range numbers {
		switch n := number.(type) {
		case int:
			sum += int64(n)
		case json.Number:
			whole, err := n.Int64()
			if err != nil {
				return 0, err
			}
			sum += whole
		default:
			return 0, fmt.Errorf("add: %v is no whole number", number)
		}
	}
	return sum, nil
}

func render(chart, name, namespace string) error {
	values := map[string]interface{}{}
	reader := json.NewDecoder(os.Stdin)
	reader.UseNumber()
	if err := reader.Decode(&values); err != nil {
		return fmt.Errorf("values: %w", err)
	}
	all := template.New("chart").Option("missingkey=error")
	all.Funcs(template.FuncMap{
		"nindent": func(spaces int, text string) string { return "\n" + indent(spaces, text) },
		"quote":   func(value interface{}) string { return fmt.Sprintf("%q", fmt.Sprint(value)) },
		"toJson":  toJSON,
		"add":     add,
		"include": func(name string, data interface{}) (string, error) {
			var out bytes.Buffer
			err := all.ExecuteTemplate(&out, name, data)
			return out.String(), err
		},
	})
	files, err := filepath.Glob(filepath.Join(chart, "templates", "*"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("'%s' has no templates", chart)
	}
	if _, err := all.ParseFiles(files...); err != nil {
		return err
	}
	data := map[string]interface{}{
		"Values":  values,
		"Release": map[string]interface{}{"Name": name, "Namespace": namespace},
	}
	for _, file := range files {
		if !strings.HasSuffix(file, ".yaml") {
			continue
		}
		var out bytes.Buffer
		if err := all.ExecuteTemplate(&out, filepath.Base(file), data); err != nil {
			return err
		}
		fmt.Printf("---\n%s\n", strings.Trim(out.String(), "\n"))
	}
	return nil
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: render_chart CHART NAME NAMESPACE <VALUES.json")
		os.Exit(2)
	}
	if err := render(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "render_chart:", err)
		os.Exit(1)
	}
}
