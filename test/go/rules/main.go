// Rules answers questions about alert rules and PromQL with Prometheus' own code. It reads one request as JSON from
// standard input and writes one answer to standard output.
package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

type request struct {
	// Rules is the content of a rule file, as `promtool check rules` takes it.
	Rules string `json:"rules"`
	// Expressions are taken apart into their selectors.
	Expressions []string `json:"expressions"`
	// Cases are evaluated against the rules.
	Cases []testCase `json:"cases"`
}

type answer struct {
	// Errors are what Prometheus finds wrong with the rules; with any of them no case is evaluated.
	Errors      []string     `json:"errors"`
	Expressions []expression `json:"expressions"`
	Cases       []outcome    `json:"cases"`
}

type expression struct {
	Error     string     `json:"error,omitempty"`
	Selectors []selector `json:"selectors"`
	// Labels are those that the expression groups, joins or aggregates by.
	Labels []string `json:"labels"`
}

type selector struct {
	Metric   string    `json:"metric"`
	Matchers []matcher `json:"matchers"`
}

type matcher struct {
	Label string `json:"label"`
	// Type is one of = != =~ !~
	Type  string `json:"type"`
	Value string `json:"value"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	var asked request
	if err := json.NewDecoder(os.Stdin).Decode(&asked); err != nil {
		return err
	}
	promql := parser.NewParser(parser.Options{})
	result := answer{Errors: []string{}, Expressions: []expression{}, Cases: []outcome{}}
	for _, text := range asked.Expressions {
		result.Expressions = append(result.Expressions, takeApart(promql, text))
	}
	if asked.Rules != "" {
		groups, errs := rulefmt.Parse([]byte(asked.Rules), false, model.UTF8Validation, promql, slog.New(slog.DiscardHandler))
		for _, err := range errs {
			result.Errors = append(result.Errors, err.Error())
		}
		for _, one := range asked.Cases {
			if len(errs) > 0 {
				break
			}
			evaluated, err := evaluate(promql, groups, one)
			if err != nil {
				return fmt.Errorf("case %q: %w", one.Name, err)
			}
			result.Cases = append(result.Cases, evaluated)
		}
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}

func takeApart(promql parser.Parser, text string) expression {
	found := expression{Selectors: []selector{}, Labels: []string{}}
	root, err := promql.ParseExpr(text)
	if err != nil {
		found.Error = err.Error()
		return found
	}
	parser.Inspect(root, func(node parser.Node, _ []parser.Node) error {
		switch node := node.(type) {
		case *parser.VectorSelector:
			found.Selectors = append(found.Selectors, selectorOf(node))
		case *parser.AggregateExpr:
			if !node.Without {
				found.Labels = append(found.Labels, node.Grouping...)
			}
		case *parser.BinaryExpr:
			if node.VectorMatching != nil {
				found.Labels = append(found.Labels, node.VectorMatching.MatchingLabels...)
			}
		}
		return nil
	})
	return found
}

func selectorOf(node *parser.VectorSelector) selector {
	result := selector{Metric: node.Name, Matchers: []matcher{}}
	for _, one := range node.LabelMatchers {
		if one.Name == labels.MetricName {
			continue
		}
		result.Matchers = append(result.Matchers, matcher{Label: one.Name, Type: one.Type.String(), Value: one.Value})
	}
	return result
}
